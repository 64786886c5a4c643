import { randomBytes } from 'node:crypto';
import { platform } from 'node:os';
import type { EventBody } from '../events/event.ts';
import type { ManifestPin, SessionEnvironment } from '../events/life-event.ts';
import type { FieldError } from '../events/value-event.ts';
import type { Clock } from '../kernel/clock.ts';
import type { JsonObject } from '../kernel/json.ts';
import { RuntimeError } from '../kernel/runtime-error.ts';
import type { Store } from '../store/store.ts';
import type { Begin, Lineage } from './children/lineage.ts';
import { codeFilesOf } from './code-files.ts';
import { keptMetadata } from './metadata-writer.ts';
import type { PreparedAgent } from './prepare-agent.ts';
import { checkGiven, classesOf, variableDefaults } from './variables/start-variables.ts';
import { type KeptValues, readKept } from './variables/variable-keeper.ts';

const SEAL_BYTES = 9;

export interface FirstEventDeps {
  readonly store: Store;
  readonly clock: Clock;
  /** Whose variables of `key: user` sessions have that say nothing else. */
  readonly user: string;
}

/** What a session that begins or goes on now is pinned to. */
export function pinOf({ agent, source, model }: PreparedAgent): ManifestPin {
  const files = codeFilesOf(agent, model.id);
  return files === undefined ? source : { ...source, files };
}

/** What a session that begins now tells its model of where it is. */
export const environmentOf = (clock: Clock, folder: string): SessionEnvironment => ({
  date: new Date(clock.now()).toISOString().slice(0, 10),
  folder,
  platform: platform(),
});

/** A sub-agent's variables are given by the model that calls it. */
export const writerOf = (lineage: Lineage | undefined) => (lineage === undefined ? 'user' : 'model');

/** How a session begins. */
interface First {
  readonly started: Extract<EventBody, { type: 'session.started' }>;
  readonly dropped: readonly FieldError[];
  /** Variables that are set right after it. */
  readonly given: JsonObject;
  readonly problems: readonly RuntimeError[];
}

export async function firstEvent(
  deps: FirstEventDeps,
  { id, start, agent, lineage, lead }: Extract<Begin, { kind: 'start' }>,
  prepared: PreparedAgent,
): Promise<First> {
  const { store } = deps;
  const { manifest } = agent;
  if (start.chat === true && manifest.workflow !== null) throw notTalkedTo(manifest.name, manifest.workflow);
  const given = start.vars ?? {};
  checkGiven(manifest, given, writerOf(lineage));
  const kept = await keptMetadata(manifest.metadata, manifest.name, store);
  const { values, dropped } = prepared.metadata.initial(
    lineage === undefined ? kept : { ...kept, ...lineage.shared },
  );
  const { defined } = manifest.context_variables;
  const user = lineage?.user ?? start.user ?? deps.user;
  const found =
    defined.length === 0
      ? NOTHING_KEPT
      : await readKept({ ...deps, manifest, targets: prepared.targets }, defined, {
          session: id,
          agent: manifest.name,
          user,
          metadata: values,
        });
  const isKept = (name: string) => defined.some((each) => each.name === name);
  const own = Object.fromEntries(Object.entries(given).filter(([name]) => !isKept(name)));
  const vars = { ...variableDefaults(manifest), ...found.values, ...lineage?.variables, ...own };
  const started = {
    type: 'session.started',
    agent: manifest.name,
    input: start.input,
    manifest: pinOf(prepared),
    model: prepared.model.id,
    ...(lineage === undefined ? {} : { parent: lineage.parent }),
    ...(manifest.protocol.seal ? { seal: randomBytes(SEAL_BYTES).toString('base64url') } : {}),
    environment: environmentOf(deps.clock, agent.folder),
    ...(start.maxTurns === undefined ? {} : { max_turns: start.maxTurns }),
    ...(start.chat === true ? { chat: true as const } : {}),
    ...(lead === undefined && manifest.workflow === null ? {} : { led: true as const }),
    vars: prepared.derived?.initial(vars, values) ?? vars,
    ...classesOf(manifest),
    ...(defined.some(({ key }) => key === 'user') ? { user } : {}),
    metadata: values,
    ...(prepared.metadata.states.length === 0 ? {} : { states: prepared.metadata.states }),
    ...(manifest.budget === undefined
      ? {}
      : { balance: Math.min(manifest.budget.balance, lineage?.balance ?? Number.POSITIVE_INFINITY) }),
  } as const;
  return { started, dropped, given, problems: found.problems };
}

const notTalkedTo = (agent: string, workflow: string) =>
  new RuntimeError(
    'bad_option',
    `The agent "${agent}" is led by its workflow "${workflow}", so you cannot chat with it.`,
    {
      hint: 'Run it with "telltale run", and send it messages while it works: telltale steer SESSION "…"',
    },
  );

const NOTHING_KEPT: KeptValues = { values: {}, problems: [] };
