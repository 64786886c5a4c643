import type { Runtime } from '../../../src/agent/runtime-types.ts';
import type { EventOf, EventType, SessionEvent } from '../../../src/log/event.ts';
import type { Model, ModelEnd, ModelRequest } from '../../../src/models/model.ts';
import { type Ran, type RunOptions, runAgent } from '../run-agent.ts';

/** An agent that another one calls: what its manifest says beyond its name and model, and what its model says. */
export interface Member {
  readonly manifest?: string;
  /** Undefined: it names no model. */
  readonly turns?: readonly (string | object)[];
}

export type Team = Readonly<Record<string, Member>>;

/** The files of agents in a folder of their own. */
function teamFiles(team: Team): Record<string, string> {
  const files: Record<string, string> = {};
  for (const [name, { manifest = '', turns }] of Object.entries(team)) {
    const model = turns === undefined ? '' : `model: scripted:./${name}.turns.json\n`;
    files[`team/${name}.yml`] = `kind: Agent\nname: ${name}\n${model}${manifest}`;
    if (turns !== undefined) files[`team/${name}.turns.json`] = JSON.stringify({ turns });
  }
  return files;
}

/** The manifest with the team imported, next to what its own keys "tools" and "workflows" name. */
function withTeam(manifest: string): string {
  const lines = manifest.split('\n');
  const isImport = (line: string) => /^(?:tools|workflows): /.test(line);
  const imports = ['agents: [./team/*.yml]', ...lines.filter(isImport)];
  return `import: { ${imports.join(', ')} }\n${lines.filter((line) => !isImport(line)).join('\n')}`;
}

export const call = (id: string, name: string, body: object = {}, mode = 'async'): string =>
  `<action type="agent" mode="${mode}" id="${id}">${JSON.stringify({ name, parameters: { input: `For ${id}.` }, ...body })}</action>`;

/** A model that says what a function of the request gives. */
export const speaking = (
  say: (request: ModelRequest) => string,
  { usage, ...more }: Partial<Model> & Pick<ModelEnd, 'usage'> = {},
): Model => ({
  id: 'scripted:speaking',
  ...more,
  async stream(request, sink) {
    await undefined;
    sink.text(say(request));
    return { finish: 'stop', ...(usage === undefined ? {} : { usage }) };
  },
});

/** The first of these agents that the prompt lists as one to call. */
export const calls = (
  { system }: Pick<ModelRequest, 'system'>,
  ...names: readonly string[]
): string | undefined => names.find((name) => system.includes(`- "${name}" {`));

export interface TeamRan extends Ran {
  /** The events of a sub-agent: `a1`, `a1.b1` for one of its own. */
  child(path: string): readonly SessionEvent[];
  childOf<Type extends EventType>(path: string, type: Type): readonly EventOf<Type>[];
}

/** As `runAgent`, with agents that the tester may call. */
export async function runTeam(team: Team, options: RunOptions): Promise<TeamRan> {
  const logs = new Map<string, readonly SessionEvent[]>();
  const after = async (session: string, runtime: Runtime) => {
    for (const { stream } of await runtime.store.list())
      if (stream.startsWith(`${session}.`))
        logs.set(stream.slice(session.length + 1), await runtime.events(stream));
    await options.after?.(session, runtime);
  };
  const ran = await runAgent({
    ...options,
    manifest: withTeam(options.manifest ?? ''),
    files: { ...teamFiles(team), ...options.files },
    after,
  });
  const child = (path: string): readonly SessionEvent[] => logs.get(path) ?? [];
  return {
    ...ran,
    child,
    childOf: (path, type) => child(path).filter((event) => event.type === type) as never,
  };
}
