import { clip } from '../manifest/schema/show-value.ts';
import { createEscape } from '../prompt/escape.ts';
import type { AgentTargets } from '../targets/create-targets.ts';
import type { Target } from '../targets/target.ts';
import type { PreparedAgent } from './prepare-agent.ts';
import type { SessionLog } from './session-log.ts';

/** Tools that are described; those beyond are named. */
const MAX_DESCRIBED = 20;
const MAX_LINE = 4_000;
const MAX_NAMED = 100;

/**
 * Tells the model, before a turn and once, that an MCP server lists other tools than the system prompt, which is fixed.
 * Undefined for an agent without such servers. Where the model calls tools natively it is only told of those that are
 * gone: what it can call there stands before the conversation, and would have to be rewritten.
 */
export function createToolNews(prepared: PreparedAgent, log: SessionLog): (() => void) | undefined {
  if (prepared.targets.deps.servers.size === 0) return undefined;
  let told = prepared.targets;
  return () => {
    const latest = latestOf(told);
    if (latest === told) return;
    const text = newsOf(told.all, latest.all, prepared.agent.manifest.dialect === 'tags');
    told = latest;
    if (text !== '')
      log.append({ type: 'message.received', from: 'runtime', text: createEscape(log.state.seal)(text) });
  };
}

/** One that cannot be made is no news: the next session hears what is wrong with it. */
function latestOf(told: AgentTargets): AgentTargets {
  try {
    return told.latest();
  } catch {
    return told;
  }
}

function newsOf(before: readonly Target[], now: readonly Target[], tellsNew: boolean): string {
  const known = new Map(before.map((target) => [target.name, target]));
  const left = new Set(now.map(({ name }) => name));
  const gone = before.filter(({ name }) => !left.has(name)).map(({ name }) => `"${name}"`);
  const fresh = tellsNew ? now.filter((target) => !isSame(known.get(target.name), target)) : [];
  const lines = [
    ...(gone.length === 0 ? [] : [`No longer there: ${listed(gone)}.`]),
    ...fresh.slice(0, MAX_DESCRIBED).map((target) => describe(target, known.has(target.name))),
    ...(fresh.length > MAX_DESCRIBED
      ? [`Also new: ${listed(fresh.slice(MAX_DESCRIBED).map(({ name }) => `"${name}"`))}.`]
      : []),
  ];
  return lines.length === 0 ? '' : `What you can call has changed.\n${lines.join('\n')}`;
}

const isSame = (one: Target | undefined, other: Target): boolean =>
  one === other ||
  (one !== undefined &&
    one.description === other.description &&
    JSON.stringify(one.parameters) === JSON.stringify(other.parameters));

function describe({ kind, name, description, parameters }: Target, wasThere: boolean): string {
  const words = clip(description.replaceAll(/\s+/g, ' ').trim(), MAX_LINE);
  return `- ${wasThere ? 'Changed' : 'New'}: type ${kind}, name ${JSON.stringify(name)}: ${words} Parameters: ${clip(JSON.stringify(parameters), MAX_LINE)}`;
}

const listed = (names: readonly string[]): string =>
  names.length > MAX_NAMED
    ? `${names.slice(0, MAX_NAMED).join(', ')}, … (${names.length} in all)`
    : names.join(', ');
