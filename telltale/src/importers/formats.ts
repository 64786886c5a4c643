import type { Format } from './importer.ts';

/** Every format. Only the one that is asked for is loaded. */
export const FORMATS: Readonly<Record<string, Format>> = {
  cortex: {
    noun: 'a manifest of Cortex',
    options: ['model'],
    load: async () => (await import('./cortex/import-cortex.ts')).cortex,
  },
  workrail: {
    noun: 'a workflow of WorkRail',
    options: ['agent', 'confirm', 'model'],
    load: async () => (await import('./workrail/import-workrail.ts')).workrail,
  },
  mozaiks: {
    noun: 'a workflow of Mozaiks',
    options: ['model'],
    load: async () => (await import('./mozaiks/import-mozaiks.ts')).mozaiks,
  },
  'agent-ecology': {
    noun: 'a manifest of agent_ecology2',
    options: ['model'],
    load: async () => (await import('./agent-ecology/import-agent-ecology.ts')).agentEcology,
  },
};
