import type { SessionEnvironment } from '../events/life-event.ts';
import type { Json } from '../kernel/json.ts';
import type { AgentManifest } from '../manifest/schema/kinds.ts';
import { stepPrimer, toolsPrimer } from './calls/call-primer.ts';
import { describeField } from './describe-field.ts';
import { allTargets, type DescribedTarget } from './described-target.ts';
import { createEscape, type Escape } from './escape.ts';
import { exampleTurns } from './example-turn.ts';
import { NOTATION, oneLine, sentence, targetLines } from './notation.ts';
import type { PromptPart } from './prompt.ts';
import { tagsPrimer } from './tags-primer.ts';
import { taughtTo } from './taught.ts';

export interface PrimerOptions {
  /** The targets that are taught, but the internal actions, in the manifest's order. */
  readonly targets: readonly DescribedTarget[];
  readonly internalActions: readonly Omit<DescribedTarget, 'kind'>[];
  /** The session's key, where `protocol.seal` is on. */
  readonly sealKey?: string | undefined;
  /** Absent for sessions that were begun before models were told of it. */
  readonly environment?: SessionEnvironment | undefined;
  /** Whether a run leads the session from step to step. */
  readonly led?: boolean;
}

/**
 * The system prompt of a session: the manifest's instructions, and how this agent's model acts, and on what. It has only
 * what this agent can use, and never changes within the session. Descriptions and schemas of targets are text from
 * outside (a server may have written them) and are escaped as such.
 */
export function systemParts(agent: AgentManifest, options: PrimerOptions): readonly PromptPart[] {
  const { targets, internalActions, sealKey, environment } = options;
  const safe = createEscape(sealKey);
  const isTags = agent.dialect === 'tags';
  const led = options.led === true;
  const all: readonly PromptPart[] = [
    { name: 'instructions', text: agent.instructions.trim() },
    { name: 'protocol', text: dialectPrimer(agent, options) },
    {
      name: 'example',
      text:
        agent.protocol.actions_in.length > 0 || !isTags ? exampleTurns(agent, { targets, sealKey, led }) : '',
    },
    // Native tools say themselves what they are, and so do the fields of `set_metadata`.
    { name: 'tools', text: agent.dialect === 'tools' ? '' : targetList(agent, targets, safe) },
    {
      name: 'internal actions',
      text: agent.dialect === 'tools' ? '' : internalList(agent, internalActions, safe),
    },
    { name: 'templates', text: templateList(agent, safe) },
    { name: 'metadata', text: isTags ? metadataList(agent, safe) : '' },
    { name: 'variables', text: variableList(agent, safe) },
    { name: 'feeds', text: feedList(agent) },
    led ? { name: 'steps', text: stepsNote(agent) } : { name: 'output', text: outputNote(agent) },
    { name: 'environment', text: environmentNote(environment) },
    { name: 'limits', text: `You have at most ${agent.limits.turns} turns.` },
  ];
  const parts = all.filter(({ text }) => text !== '');
  const last = parts.at(-1);
  return parts.map((part) => (part === last ? part : { name: part.name, text: `${part.text}\n\n` }));
}

/** The parts as one text. */
export const systemPrompt = (agent: AgentManifest, options: PrimerOptions): string =>
  systemParts(agent, options)
    .map(({ text }) => text)
    .join('');

/** Without the instructions. */
export const primer = (agent: AgentManifest, options: PrimerOptions): string =>
  systemPrompt({ ...agent, instructions: '' }, options);

function environmentNote(environment: SessionEnvironment | undefined): string {
  if (environment === undefined) return '';
  const { date, folder, platform } = environment;
  return `# Environment\n\nSession start: ${weekday(date)}, ${date} (UTC)\nWorking folder: ${folder}\nPlatform: ${PLATFORMS[platform] ?? platform}`;
}

const weekday = (date: string): string =>
  ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'][
    new Date(date).getUTCDay()
  ] ?? '';

const PLATFORMS: Readonly<Record<string, string>> = { linux: 'Linux', darwin: 'macOS', win32: 'Windows' };

function dialectPrimer(agent: AgentManifest, options: PrimerOptions): string {
  const { targets, internalActions, sealKey } = options;
  const all = allTargets(targets, internalActions);
  const shared = { acts: all.length > 0, taught: taughtTo(agent, all), led: options.led === true };
  switch (agent.dialect) {
    case 'tags':
      return tagsPrimer(agent, { ...shared, sealKey });
    case 'tools':
      return toolsPrimer(agent, shared);
    case 'step':
      return stepPrimer(agent, shared);
  }
}

/** Tools first; what is of another kind has a title of its own, since the action has to name the kind. */
function targetList({ dialect }: AgentManifest, targets: readonly DescribedTarget[], safe: Escape): string {
  const kinds = [...new Set(targets.map(({ kind }) => kind))];
  const lists = kinds.map((kind) => {
    const lines = targets.filter((target) => target.kind === kind).map((target) => shownTarget(target, safe));
    return `${titleOf(kind, dialect)}\n\n${lines.join('\n')}`;
  });
  const [first = '', ...others] = lists;
  return targets.length === 0 ? '' : [first.replace('\n\n', `\n\n${NOTATION}\n\n`), ...others].join('\n\n');
}

const TITLES: Readonly<Record<string, string>> = {
  tool: 'Tools',
  agent: 'Agents',
  relic: 'Relics (services that keep data beyond this session)',
  workflow: 'Workflows',
  llm: 'Prompts (each asks a model)',
  artifact: 'Artifacts',
  internal: 'Internal actions',
};

const titleOf = (kind: string, dialect: AgentManifest['dialect']): string =>
  `# ${TITLES[kind] ?? kind}${kind === 'tool' || dialect !== 'tags' ? '' : `: <action type="${kind}" …>`}`;

const shownTarget = (target: DescribedTarget, safe: Escape): string =>
  safe(targetLines(target, target.native));

function internalList(
  { dialect }: AgentManifest,
  actions: PrimerOptions['internalActions'],
  safe: Escape,
): string {
  if (actions.length === 0) return '';
  const lines = actions.map((action) => shownTarget({ ...action, kind: 'internal' }, safe));
  return `${titleOf('internal', dialect)}\n\n${lines.join('\n')}`;
}

function templateList({ action_templates: templates, dialect }: AgentManifest, safe: Escape): string {
  const lines = Object.entries(templates).map(
    ([name, template]) => `- ${safe(`"${name}": ${JSON.stringify(template, inSeconds)}`)}`,
  );
  if (lines.length === 0) return '';
  const what = dialect === 'tags' ? 'An action' : 'A call';
  return `# Action templates\n\n${what} with "template": "NAME" takes the fields that it does not set from this template.\n\n${lines.join('\n')}`;
}

/** As an action writes it. */
const inSeconds = (key: string, value: unknown): unknown =>
  key === 'timeout' && typeof value === 'object' && value !== null && 'ms' in value
    ? Number(value.ms) / 1000
    : value;

function metadataList({ metadata, protocol }: AgentManifest, safe: Escape): string {
  if (protocol.actions_in.length === 0) return '';
  const lines = Object.entries(metadata.fields).map(([name, field]) => {
    const told = field.description === undefined ? '' : ` ${sentence(oneLine(field.description))}`;
    return safe(`- ${name}: ${describeField(field)}.${told}`);
  });
  if (lines.length === 0) return '';
  const invalid = metadata.on_invalid === 'all' ? ' One wrong field rejects the whole update.' : '';
  return `# Metadata\n\nTells others what you are doing: keep it true. Set only what changes; null resets it.${invalid}\n\n${lines.join('\n')}`;
}

function variableList({ name: agent, context_variables: variables }: AgentManifest, safe: Escape): string {
  const lines = [...variables.defined, ...variables.runtime, ...variables.derived]
    .filter(({ expose }) => expose === undefined || expose.includes(agent))
    .map(({ name, description }) =>
      safe(`- $${name}${description === undefined ? '' : `: ${oneLine(description)}`}`),
    );
  return lines.length === 0 ? '' : `# Variables\n\n${lines.join('\n')}`;
}

function outputNote({ output, dialect }: AgentManifest): string {
  if (output === undefined) return '';
  if (dialect === 'tools') return '# Result\n\nEnd your work with "respond" and the result as "output".';
  if (dialect === 'step')
    return '# Result\n\nThe step with "is_complete": true must have the result as "output".';
  return `# Final response\n\nIt is one JSON value and nothing else, without a code fence. JSON Schema: ${compact(output.schema)}\n\n"$name" inserts a result into that string; $name without quotes inserts the value itself.`;
}

function stepsNote({ dialect }: AgentManifest): string {
  return `# Steps\n\nYou work through steps. A step counts until a message brings the next one. ${COMPLETE[dialect]} Nothing after it in that turn runs. Notes may be checked. Completing the last step ends your work.`;
}

const COMPLETE: Readonly<Record<AgentManifest['dialect'], string>> = {
  tags: 'When a step is done, complete it: <action type="internal" name="complete_step">{"notes": "…"}</action>.',
  tools: 'When a step is done, call "complete_step".',
  step: 'When a step is done, set "is_complete": true with "notes". It counts only if all "tool_calls" of that call succeed.',
};

/** Which feeds there are: their values stand at the end of the messages. */
function feedList({ context_feeds: feeds }: AgentManifest): string {
  const lines = feeds.flatMap((feed) => {
    if (!('source' in feed)) return [];
    const when =
      feed.inject === 'reference'
        ? `not shown; loaded where $${feed.id} names it`
        : feed.type === 'periodic'
          ? `every ${(feed.interval?.ms ?? 0) / 1000} s`
          : 'each turn';
    return [`- ${feed.id}: ${when}`];
  });
  if (lines.length === 0) return '';
  return `# Context feeds\n\n<context_feed> blocks show their values, again only when they change. $ID stands for a value, as $id does for a result.\n\n${lines.join('\n')}`;
}

const compact = (value: Json) => JSON.stringify(value);
