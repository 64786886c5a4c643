import { evaluate, evaluateTest } from '../../expressions/cel/evaluate.ts';
import { parseExpression } from '../../expressions/cel/parse-expression.ts';
import { RuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { suggest } from '../../lib/nearest.ts';
import type { Cause } from '../../log/event.ts';
import type { HandoffBy } from '../../log/handoff-event.ts';
import type { SessionState } from '../../log/state.ts';
import { type Carry, NOT_AGENTS } from '../../manifest/schema/handoff.ts';
import type { AgentManifest } from '../../manifest/schema/kinds.ts';
import type { ExpectedAnswer, Invocation } from '../../tools/artifacts/create-invoke.ts';
import { createTestContext, type TestContext } from '../agent-view.ts';
import { invokeOf } from '../artifact-service.ts';
import { sessionContext } from '../decision-context.ts';
import type { SessionContext } from '../session-context.ts';

/** Who speaks next, and what decided it. */
export interface SpeakerRulesDecision {
  readonly to: string;
  readonly by: HandoffBy;
  readonly reason?: string | undefined;
  readonly carry?: Carry | undefined;
  readonly summary?: string | undefined;
  /** The event that asks for it; otherwise it follows from what was said last. */
  readonly cause?: Cause;
}

/** The agent whose entries are checked. */
export interface Speaker {
  readonly manifest: AgentManifest;
  /** Of its session, as far as it has begun. */
  readonly state: SessionState | undefined;
}

type SpeakerRulesEntry = Exclude<AgentManifest['handoff'][number], string>;
type Tested = Pick<SpeakerRulesEntry, 'if' | 'always'>;

/** The first of the agent's own entries that holds at this point. */
export async function decideByEntries(
  conversation: SessionContext,
  speaker: Speaker,
  at: 'before_turn' | 'after_turn',
): Promise<SpeakerRulesDecision | undefined> {
  for (const [index, entry] of speaker.manifest.handoff.entries()) {
    if (typeof entry === 'string' || (entry.at ?? 'after_turn') !== at) continue;
    if (entry.if === undefined && entry.always === undefined) continue;
    const where = `agent ${speaker.manifest.name}: handoff ${index}`;
    if (!(await holds(conversation, speaker, entry, where))) continue;
    const { to, carry, reason } = entry;
    return { to, by: 'rule', carry, reason: reason ?? reasonOf(entry) };
  }
  return undefined;
}

/** Who gets a message of the person: undefined leaves it to whoever spoke last. */
export async function decideByMessage(
  conversation: SessionContext,
  speaker: Speaker,
): Promise<SpeakerRulesDecision | undefined> {
  const { group } = conversation.manifest;
  for (const [index, rule] of (group?.on_message ?? []).entries())
    if (await holds(conversation, speaker, rule, `group: on_message ${index}`))
      return { to: rule.to, by: 'message', reason: reasonOf(rule) };
  // Each round begins with the same agent.
  const first = firstOf(conversation.manifest);
  return group?.next_speaker === 'round_robin' || group?.next_speaker === 'random'
    ? { to: first, by: 'group' }
    : undefined;
}

/** Who begins a conversation. */
export const firstOf = ({ group, name }: AgentManifest): string => group?.start ?? group?.agents[0] ?? name;

const reasonOf = (entry: Tested): string | undefined =>
  typeof entry.if === 'string' && entry.if !== 'true' ? entry.if : undefined;

/** Who speaks by the group's own rule, where the agent itself named nobody. */
export async function decideByGroup(
  conversation: SessionContext,
  speaker: Speaker,
  last: string | undefined,
): Promise<SpeakerRulesDecision | undefined> {
  const { manifest, state, deps } = conversation;
  const { group } = manifest;
  if (group === undefined) return undefined;
  const { agents, next_speaker: next } = group;
  const { name } = speaker.manifest;
  const spoken = state.thread?.spoken ?? [];
  const decided = (to: string): SpeakerRulesDecision => ({ to, by: 'group' });
  if (next === 'round_robin') return decided(agents[agents.indexOf(name) + 1] ?? 'user');
  if (next === 'random') {
    const left = agents.filter((each) => each !== name && !spoken.includes(each));
    return decided(left[Math.floor(deps.runtime.random() * left.length)] ?? 'user');
  }
  const allowed = [...agents, ...NOT_AGENTS];
  const said = {
    speaker: name,
    agents: [...agents],
    rounds: Math.max(0, spoken.length - 1),
    last: last ?? '',
  };
  if (typeof next !== 'string') {
    const asked = await ask(
      conversation,
      next,
      'group: next_speaker',
      { type: 'one_of', values: allowed },
      said,
    );
    return decided(String(asked));
  }
  if (NOT_AGENTS.includes(next)) return decided(next);
  const parsed = parseExpression(next);
  const given = parsed.ok
    ? evaluate(parsed.value, { ...testContextOf(conversation, speaker), ...said })
    : parsed;
  if (!given.ok) throw unknownSpeaker(`it could not be worked out: ${given.error.message}`, allowed, '');
  if (given.value === null) return decided('user');
  if (typeof given.value !== 'string' || !allowed.includes(given.value))
    throw unknownSpeaker(`it gave ${JSON.stringify(given.value)}`, allowed, String(given.value));
  return decided(given.value);
}

const unknownSpeaker = (why: string, allowed: readonly string[], found: string) =>
  new RuntimeError('unknown_speaker', `"group: { next_speaker }" does not say who speaks next: ${why}.`, {
    hint: suggest(found, allowed, 'It may give'),
  });

async function holds(
  conversation: SessionContext,
  speaker: Speaker,
  entry: Tested,
  where: string,
): Promise<boolean> {
  if (entry.always === true) return true;
  const test = entry.if;
  if (test === undefined) return false;
  if (typeof test !== 'string') return (await ask(conversation, test, where, { type: 'boolean' })) === true;
  const parsed = parseExpression(test);
  const result = parsed.ok ? evaluateTest(parsed.value, testContextOf(conversation, speaker)) : parsed;
  if (result.ok) return result.value;
  const { message } = result.error;
  conversation.log.append({ type: 'audit', who: 'runtime', what: `${where} counts as false: ${message}` });
  return false;
}

/** `metadata`, `actions` and `agent` are the speaker's; `vars` are the conversation's, and what only the speaker has. */
function testContextOf({ state, services: works, manifest }: SessionContext, speaker: Speaker): TestContext {
  const own = speaker.state;
  if (own === undefined || own.id === state.id) return works.context();
  const values = ({ variables }: SessionState): readonly (readonly [string, Json])[] =>
    [...variables].map(([name, { value }]) => [name, value]);
  const isDerivedHere = (name: string) =>
    manifest.context_variables.derived.some((variable) => variable.name === name);
  const vars = Object.fromEntries([
    ...values(state),
    ...values(own).filter(([name]) => !isDerivedHere(name)),
  ]);
  const view = (): JsonObject => ({
    session_id: own.id,
    agent_name: own.agent,
    iteration_count: own.turn,
    metadata: { ...own.metadata },
    variables: vars,
  });
  const { metadata, actions, agent } = createTestContext(own, view);
  return { metadata, actions, agent, vars };
}

async function ask(
  { deps, log, state, stop }: SessionContext,
  invocation: Invocation<unknown>,
  where: string,
  wanted: ExpectedAnswer,
  about: JsonObject = {},
): Promise<Json> {
  const abort = new AbortController();
  const forget = stop.onStop(() => abort.abort());
  try {
    const record = await invokeOf(deps)({
      where,
      invocation: invocation as Invocation,
      expected: wanted,
      context: { ...sessionContext(state), ...about },
      signal: abort.signal,
    });
    log.append({ type: 'invoke', ...record });
    if (record.cost > 0 && state.balance !== undefined)
      log.append({
        type: 'budget.charged',
        what: 'artifact',
        amount: record.cost,
        balance: state.balance - record.cost,
      });
    return record.result;
  } finally {
    forget();
  }
}
