import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { loadAgent } from '../../src/agent/load-agent.ts';
import type {
  Runtime,
  RuntimeOptions,
  Session,
  SessionResult,
  StartOptions,
} from '../../src/agent/runtime-types.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { createSystemClock } from '../../src/lib/clock.ts';
import type { EventOf, EventType, ObservedEvent, SessionEvent } from '../../src/log/event.ts';
import type { Model } from '../../src/models/model.ts';
import { runAgent as run } from '../../src/testing/run-agent.ts';
import { hear, scripted } from '../../src/testing/scripted.ts';
import { unsoundCauses } from '../log/unsound-causes.ts';
import { hashRequests, unlikePrompts } from './unlike-prompts.ts';

/**
 * A folder with an agent in it; `files` are written beside its manifest. Unless the manifest has a protocol of its own, a
 * final response counts next to actions whose results it does not name: `held-final.test.ts` has those that are held.
 */
export function agentFolder(manifest: string, files: Readonly<Record<string, string>> = {}): string {
  const protocol = /^protocol:/m.test(manifest) ? '' : 'protocol: { final_with_actions: accept }\n';
  const folder = mkdtempSync(join(tmpdir(), 'telltale-agent-'));
  const all = {
    'telltale.yml': '',
    'agent.yml': `kind: Agent\nname: tester\nmodel: scripted:none.yml\n${protocol}${manifest}`,
    ...files,
  };
  for (const [name, text] of Object.entries(all)) {
    if (text === '') continue;
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

export interface RunOptions {
  readonly manifest?: string;
  readonly files?: Readonly<Record<string, string>>;
  readonly turns: Parameters<typeof scripted>[0];
  readonly model?: Model;
  readonly clock?: Clock;
  readonly runtime?: RuntimeOptions;
  readonly start?: Partial<StartOptions>;
  /** Called with the session as soon as it is there. */
  readonly during?: (session: Session, runtime: Runtime) => void | Promise<void>;
  /** Called once it has ended, before the store is closed. */
  readonly after?: (session: string, runtime: Runtime) => void | Promise<void>;
}

export interface Ran {
  readonly result: SessionResult;
  readonly events: readonly SessionEvent[];
  readonly observed: readonly ObservedEvent[];
  readonly folder: string;
  /** What the model was asked, turn by turn. */
  readonly prompts: readonly string[];
  of<Type extends EventType>(type: Type): readonly EventOf<Type>[];
  /** The types of events, in order. */
  readonly types: readonly EventType[];
}

/** Runs an agent of the given manifest on a scripted model and an in-memory store, to its end. Its causes have to be sound. */
export async function runAgent(options: RunOptions): Promise<Ran> {
  const folder = agentFolder(options.manifest ?? '', options.files);
  const clock = options.clock ?? createSystemClock();
  const agent = await loadAgent('agent.yml', { cwd: folder });
  const model =
    options.model === undefined
      ? scripted(options.turns, { id: 'scripted:test', clock })
      : hear(options.model);
  const { during, after } = options;
  const asked = hashRequests(model);
  // What a model that the test starts the session with is sent cannot be heard here.
  const sent = options.start?.model === undefined ? asked.sent : undefined;
  let unlike: readonly string[] = [];
  const { result, events, observed } = await run(agent, {
    input: 'Do it.',
    model: asked.model,
    ...options.start,
    runtime: { store: 'memory', clock, cwd: folder, ...options.runtime },
    ...(during === undefined ? {} : { during: (session, runtime) => during(session as Session, runtime) }),
    async after(session, opened) {
      unlike = await unlikePrompts(opened, session, agent, sent);
      await after?.(session, opened);
    },
  });
  assert.deepEqual(unsoundCauses(new Map([[result.session, events]])), []);
  assert.deepEqual(unlike, []);
  return {
    result,
    events,
    observed,
    folder,
    prompts: model.prompts,
    of: (type) => events.filter((event) => event.type === type) as never,
    types: events.map(({ type }) => type),
  };
}

/** A tool module that writes down its calls and answers as told. */
export const tool = (name: string, body: string, extra = ''): Readonly<Record<string, string>> => ({
  [`tools/${name}.yml`]: `kind: Tool\nname: ${name}\nimplementation: { module: ./${name}.mjs }\n${extra}`,
  [`tools/${name}.mjs`]: `export async function run(input, context) {\n${body}\n}\n`,
});
