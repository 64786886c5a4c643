import { Option } from 'commander';

export const durabilityOption = (): Option =>
  new Option('--durability <level>', 'what the log survives: a power failure or a killed process').choices([
    'power',
    'process',
  ]);
