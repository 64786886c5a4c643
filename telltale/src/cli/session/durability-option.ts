import { Option } from 'commander';

export const durabilityOption = (): Option =>
  new Option('--durability <level>', 'what the log survives: a pulled plug or a killed process').choices([
    'power',
    'process',
  ]);
