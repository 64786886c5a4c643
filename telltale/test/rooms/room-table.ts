/** What a room of `telltale/src` may import. `index.ts` there is the public entry and may import any room. */
export interface Room {
  /** Other rooms, directly; its own files are always allowed. */
  readonly imports: readonly string[];
  /**
   * For rooms that also run in browsers and replay from a log: no Node built-in, and no npm package but these.
   * Undefined where a room may use what Node and the package's dependencies offer.
   */
  readonly onlyPackages?: readonly string[];
}

/**
 * The law of the house, from low to high. A folder of `telltale/src` that is not listed fails the check, so a room is
 * under it from its first file on. ARCHITECTURE.md has the same table in words.
 */
const LOW_TO_HIGH: Readonly<Record<string, Room>> = {
  kernel: { imports: [], onlyPackages: [] },
  events: { imports: ['kernel'], onlyPackages: [] },
  manifest: { imports: ['kernel', 'conditions'] },
  conditions: { imports: ['kernel'], onlyPackages: ['@marcbachmann/cel-js', 're2js'] },
  protocol: { imports: ['kernel'], onlyPackages: [] },
  prompt: { imports: ['kernel', 'events', 'manifest', 'protocol'] },
  models: { imports: ['kernel', 'manifest'] },
  scheduler: { imports: ['kernel', 'events', 'conditions'] },
  targets: { imports: ['kernel', 'manifest', 'conditions', 'models', 'store'] },
  feeds: { imports: ['kernel', 'events', 'manifest', 'conditions', 'targets'] },
  memory: { imports: ['kernel', 'store'] },
  triggers: { imports: ['kernel', 'events', 'manifest', 'conditions'] },
  workflows: { imports: ['kernel', 'events', 'manifest', 'conditions', 'prompt', 'targets', 'engine'] },
  engine: { imports: ['kernel', 'events', 'store'] },
  store: { imports: ['kernel', 'events'] },
};

const belowSession = Object.keys(LOW_TO_HIGH);

export const ROOMS: Readonly<Record<string, Room>> = {
  ...LOW_TO_HIGH,
  session: { imports: belowSession },
  telemetry: { imports: ['kernel', 'events'] },
  client: { imports: ['kernel', 'events'], onlyPackages: [] },
  server: {
    imports: ['session', 'store', 'events', 'manifest', 'kernel', 'client', 'memory', 'targets', 'workflows'],
  },
  importers: { imports: ['kernel', 'conditions', 'manifest'] },
  mcp: { imports: ['session', 'workflows', 'targets', 'kernel'] },
  testing: { imports: [...belowSession, 'session', 'telemetry', 'client', 'server', 'mcp'] },
  cli: { imports: [...belowSession, 'session', 'telemetry', 'client', 'server', 'mcp', 'importers'] },
};

/** The only room that reads the process. */
export const PROCESS_READER = 'cli';

/** What `console/`, the browser's side, may import of the runtime. */
export const CONSOLE_IMPORTS: readonly string[] = ['kernel', 'events', 'client'];
