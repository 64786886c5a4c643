import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { loadAgent } from '../../src/agent/load-agent.ts';
import type { OnWaiting, Runtime, Session } from '../../src/agent/runtime-types.ts';
import type { EventOf, EventType, SessionEvent } from '../../src/log/event.ts';
import type { Model } from '../../src/models/model.ts';
import type { ScriptedModelOptions } from '../../src/models/scripted/scripted-model.ts';
import { collectEvents, createMemoryStore } from '../../src/testing/run-agent.ts';
import { scripted } from '../../src/testing/scripted.ts';
import { agentFolder, tool } from '../agent/run-agent.ts';
import { eventually } from '../store/eventually.ts';

const ID = 'ses_stage';

/** Writes down that it was called, and ends when `open(name)` was called, or at once if `name` begins with `quick`. */
const gateTool = (name: string, extra: string) =>
  tool(
    name,
    `const fs = await import('node:fs');
const { join } = await import('node:path');
const at = (file) => join(import.meta.dirname, '..', file);
fs.appendFileSync(at('calls'), '${name} ' + (input.text ?? '') + '\\n');
while (!'${name}'.startsWith('quick') && !fs.existsSync(at('open-${name}')) && !context.signal.aborted)
  await new Promise((resolve) => setTimeout(resolve, 2));
context.signal.throwIfAborted();
return input.list ?? '${name} done';`,
    extra,
  );

export interface Stage {
  readonly runtime: Runtime;
  start(): Session;
  /** The session, or another one that was branched off from it. */
  resume(id?: string): Promise<Session>;
  /** Lets the tool end, now and in all later calls. */
  open(name: string): void;
  /** `name text` for each call of a tool, in order. */
  calls(): readonly string[];
  /** Resolves once tools have been called so many times. */
  called(times: number): Promise<void>;
  /** The last message of each request to the model. */
  readonly prompts: readonly string[];
  log(): Promise<readonly SessionEvent[]>;
  of<Type extends EventType>(type: Type): Promise<readonly EventOf<Type>[]>;
  close(): Promise<void>;
}

export interface StageOptions {
  readonly turns: ScriptedModelOptions['turns'];
  readonly manifest?: string;
  /** Tools by name, with what their manifest says beyond that; `idempotent: true` by default. */
  readonly tools?: Readonly<Record<string, string>>;
  /** Whether the model never ends its turn N by itself. */
  readonly endless?: number;
  /** What becomes of it while it waits for a person. */
  readonly onWaiting?: OnWaiting;
}

/** One session on a memory store, that can be let go of and taken up again. */
export async function createStage(options: StageOptions): Promise<Stage> {
  const { turns, manifest = '', tools = {}, endless, onWaiting = 'release' } = options;
  const files = Object.entries(tools).map(([name, extra]) =>
    gateTool(name, extra === '' ? 'idempotent: true\n' : `${extra}\n`),
  );
  const folder = agentFolder(
    `${files.length > 0 ? 'import: { tools: [./tools/*.yml] }\n' : ''}${manifest}`,
    Object.assign({}, ...files),
  );
  writeFileSync(join(folder, 'calls'), '');
  const agent = await loadAgent('agent.yml', { cwd: folder });
  const runtime = await createRuntime({
    store: createMemoryStore(),
    cwd: folder,
    random: () => 0.99,
  });
  const script = scripted(turns);
  let lives = 0;
  const model = (life: number): Model => ({
    ...script,
    async stream(request, sink) {
      const end = await script.stream(request, sink);
      if (request.turn === endless && life === 1)
        await new Promise((resolve) => request.signal.addEventListener('abort', resolve));
      return end;
    },
  });
  const log = () => runtime.events(ID);
  const calls = () => lines(join(folder, 'calls'));
  return {
    runtime,
    prompts: script.prompts,
    start: () => runtime.start(agent, { input: 'Do it.', id: ID, onWaiting, model: model(++lives) }),
    resume: (id = ID) => runtime.resume(id, { agent, model: model(++lives) }),
    open: (name) => writeFileSync(join(folder, `open-${name}`), ''),
    calls,
    called: (times) =>
      eventually(() => {
        if (calls().length < times)
          throw new Error(`Tools were called ${calls().length} times, not ${times}.`);
      }),
    log,
    of: async (type) => (await log()).filter((event) => event.type === type) as never,
    async close() {
      await runtime.close();
      rmSync(folder, { recursive: true });
    },
  };
}

const lines = (file: string) =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.trim());

/** Resolves with the `nth` committed event of this type. */
export async function seen<Type extends EventType>(
  session: Session,
  type: Type,
  nth = 1,
): Promise<EventOf<Type>> {
  let left = nth;
  const events = await collectEvents(session, (event) => event.type === type && --left === 0);
  if (left === 0) return events.at(-1) as EventOf<Type>;
  throw new Error(`The session ended without ${nth} of ${type}.`);
}
