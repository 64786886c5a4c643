/** What a folder of `telltale/src` may import. `index.ts` there is the public entry and may import any folder. */
export interface FolderRule {
  /** The other folders it may import directly. Its own files are always allowed. */
  readonly imports: readonly string[];
  /**
   * Set for folders that also run in browsers: they may use no Node built-in, and only these npm packages.
   * A folder without it may use Node and all of the package's dependencies.
   */
  readonly onlyPackages?: readonly string[];
}

/**
 * The import table, from low to high. A folder of `telltale/src` that is not listed fails the check.
 * ARCHITECTURE.md has the same table with a description of each folder.
 */
const LOW_TO_HIGH: Readonly<Record<string, FolderRule>> = {
  lib: { imports: [], onlyPackages: [] },
  log: { imports: ['lib'], onlyPackages: [] },
  manifest: { imports: ['lib', 'expressions'] },
  expressions: { imports: ['lib'], onlyPackages: ['@marcbachmann/cel-js', 're2js'] },
  parser: { imports: ['lib'], onlyPackages: [] },
  prompt: { imports: ['lib', 'log', 'manifest', 'parser'] },
  models: { imports: ['lib', 'manifest'] },
  scheduler: { imports: ['lib', 'log', 'expressions'] },
  tools: { imports: ['lib', 'manifest', 'expressions', 'models', 'store'] },
  feeds: { imports: ['lib', 'log', 'manifest', 'expressions', 'tools'] },
  memory: { imports: ['lib', 'store'] },
  triggers: { imports: ['lib', 'log', 'manifest', 'expressions'] },
  workflows: { imports: ['lib', 'log', 'manifest', 'expressions', 'prompt', 'tools', 'engine'] },
  cluster: { imports: ['lib', 'log', 'store', 'engine'] },
  engine: { imports: ['lib', 'log', 'store'] },
  store: { imports: ['lib', 'log'] },
};

const belowAgent = Object.keys(LOW_TO_HIGH);

export const FOLDERS: Readonly<Record<string, FolderRule>> = {
  ...LOW_TO_HIGH,
  agent: { imports: belowAgent },
  telemetry: { imports: ['lib', 'log'] },
  client: { imports: ['lib', 'log'], onlyPackages: [] },
  server: {
    imports: [
      'agent',
      'cluster',
      'store',
      'log',
      'manifest',
      'lib',
      'client',
      'memory',
      'tools',
      'workflows',
    ],
  },
  importers: { imports: ['lib', 'expressions', 'manifest'] },
  mcp: { imports: ['agent', 'workflows', 'tools', 'lib'] },
  testing: { imports: [...belowAgent, 'agent', 'telemetry', 'client', 'server', 'mcp'] },
  cli: { imports: [...belowAgent, 'agent', 'telemetry', 'client', 'server', 'mcp', 'importers'] },
};

/** The only folder that reads the process. */
export const PROCESS_READER = 'cli';

/** What `console/`, the browser's side, may import of the runtime. */
export const CONSOLE_IMPORTS: readonly string[] = ['lib', 'log', 'client'];
