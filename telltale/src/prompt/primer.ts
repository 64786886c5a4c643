import type { SessionEnvironment } from '../events/life-event.ts';
import type { Json } from '../kernel/json.ts';
import type { AgentManifest } from '../manifest/schema/kinds.ts';
import { type CallNames, NO_CALL_NAMES } from '../protocol/calls/call-names.ts';
import { stepPrimer, toolsPrimer } from './calls/call-primer.ts';
import { describeField } from './describe-field.ts';
import type { DescribedTarget } from './described-target.ts';
import { createEscape, type Escape } from './escape.ts';
import type { PromptPart } from './prompt.ts';
import { tagsPrimer } from './tags-primer.ts';

export interface PrimerOptions {
  /** All permitted targets but the internal actions, in the manifest's order. */
  readonly targets: readonly DescribedTarget[];
  readonly internalActions: readonly Omit<DescribedTarget, 'kind'>[];
  /** The session's key, where `protocol.seal` is on. */
  readonly sealKey?: string | undefined;
  /** What targets and then internal actions are called, where the model calls them natively. */
  readonly callNames?: CallNames | undefined;
  /** Absent for sessions that were begun before models were told of it. */
  readonly environment?: SessionEnvironment | undefined;
  /** Whether a run leads the session from step to step. */
  readonly led?: boolean;
}

/**
 * The system prompt of a session: the manifest's instructions, and how this agent's model acts, and on what. It never
 * changes within the session. Descriptions and schemas of targets are text from outside (a server may have written
 * them) and are escaped as such.
 */
export function systemParts(agent: AgentManifest, options: PrimerOptions): readonly PromptPart[] {
  const safe = createEscape(options.sealKey);
  const isTags = agent.dialect === 'tags';
  const led = options.led === true;
  const all: readonly PromptPart[] = [
    { name: 'instructions', text: agent.instructions.trim() },
    { name: 'protocol', text: dialectPrimer(agent, options, safe) },
    // Native tools say themselves what they are, and so do the fields of `set_metadata`.
    { name: 'tools', text: isTags ? targetList(options.targets, safe) : '' },
    { name: 'internal actions', text: isTags ? internalList(options.internalActions, safe) : '' },
    { name: 'templates', text: templateList(agent, safe) },
    { name: 'metadata', text: isTags ? metadataList(agent, safe) : '' },
    { name: 'variables', text: variableList(agent, safe) },
    { name: 'feeds', text: feedList(agent) },
    led ? { name: 'steps', text: stepsNote(agent) } : { name: 'output', text: outputNote(agent) },
    { name: 'environment', text: environmentNote(options.environment) },
    {
      name: 'limits',
      text: limitsNote(agent, options.targets.length + options.internalActions.length > 0),
    },
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
  return `# Environment\n\n- Date when this session began (UTC): ${weekday(date)}, ${date}\n- Working folder: ${folder}\n- Platform: ${PLATFORMS[platform] ?? platform}`;
}

const weekday = (date: string): string =>
  ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'][
    new Date(date).getUTCDay()
  ] ?? '';

const PLATFORMS: Readonly<Record<string, string>> = { linux: 'Linux', darwin: 'macOS', win32: 'Windows' };

function dialectPrimer(agent: AgentManifest, options: PrimerOptions, safe: Escape): string {
  const { targets, internalActions, sealKey, callNames = NO_CALL_NAMES } = options;
  const all = () => allTargets(targets, internalActions);
  switch (agent.dialect) {
    case 'tags':
      return tagsPrimer(agent, {
        targets,
        sealKey,
        acts: targets.length + internalActions.length > 0,
      });
    case 'tools':
      return toolsPrimer(agent, { targets: all(), names: callNames, safe });
    case 'step':
      return stepPrimer(agent, { targets: all(), names: callNames, safe, led: options.led });
  }
}

/** All that can be called natively, in the order in which it gets its names. */
export const allTargets = (
  targets: readonly DescribedTarget[],
  internalActions: PrimerOptions['internalActions'],
): readonly DescribedTarget[] => [
  ...targets,
  ...internalActions.map(({ name, description, parameters }) => ({
    kind: 'internal' as const,
    name,
    description,
    parameters,
  })),
];

function targetList(targets: readonly DescribedTarget[], safe: Escape): string {
  if (targets.length === 0) return '';
  const lines = targets.map(({ kind, ...target }) => `- type ${kind}, ${targetLine(target, safe)}`);
  return `# What you can call\n\nParameters are given as JSON Schema.\n\n${lines.join('\n')}`;
}

function internalList(actions: PrimerOptions['internalActions'], safe: Escape): string {
  if (actions.length === 0) return '';
  const lines = actions.map((action) => `- ${targetLine(action, safe)}`);
  return `# Internal actions\n\nActions on your own environment, called with type internal.\n\n${lines.join('\n')}`;
}

function targetLine({ name, description, parameters }: Omit<DescribedTarget, 'kind'>, safe: Escape): string {
  const told = sentence(description);
  return safe(
    `name ${JSON.stringify(name)}: ${told === '' ? '' : `${told} `}Parameters: ${JSON.stringify(parameters)}`,
  );
}

function templateList({ action_templates: templates, dialect }: AgentManifest, safe: Escape): string {
  const lines = Object.entries(templates).map(
    ([name, template]) => `- ${safe(`"${name}": ${JSON.stringify(template, inSeconds)}`)}`,
  );
  if (lines.length === 0) return '';
  const what = dialect === 'tags' ? 'An action' : 'A call';
  return `# Action templates\n\n${what} with "template": "NAME" takes what it does not set itself from the template.\n\n${lines.join('\n')}`;
}

/** As an action writes it. */
const inSeconds = (key: string, value: unknown): unknown =>
  key === 'timeout' && typeof value === 'object' && value !== null && 'ms' in value
    ? Number(value.ms) / 1000
    : value;

function metadataList({ metadata }: AgentManifest, safe: Escape): string {
  const lines = Object.entries(metadata.fields).map(([name, field]) => {
    const told = field.description === undefined ? '' : ` ${sentence(field.description)}`;
    const start = field.default === undefined ? '' : ` Default: ${JSON.stringify(field.default)}.`;
    return safe(`- ${name}: ${describeField(field)}.${told}${start}`);
  });
  if (lines.length === 0) return '';
  const invalid =
    metadata.on_invalid === 'all'
      ? 'One wrong field rejects the whole update.'
      : 'A wrong field is rejected, the others of the update apply.';
  return `# Metadata\n\nFields that say what you are doing. Others act on them, so keep them true. Set only those you change; null sets a field back to its default. ${invalid}\n\n${lines.join('\n')}`;
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
  if (dialect === 'tools')
    return '# The result\n\nYour work ends with a call of "respond" whose "output" is the result.';
  if (dialect === 'step')
    return '# The result\n\nThe step with "is_complete": true must have "output", which is the result.';
  return `# The final response\n\nIt must be one JSON value that satisfies this JSON Schema, and nothing else, not even a code fence: ${compact(output.schema)}\n\nA $name in quotes becomes part of that text, escaped; without quotes it becomes the value itself, whatever its type.`;
}

function stepsNote({ dialect }: AgentManifest): string {
  return `# Steps\n\nYou are led through your work one step at a time: what to do now is the step in hand, and it counts until the next one comes. ${COMPLETE[dialect]} Running actions end first; nothing that you call after it in the same turn is begun. The notes say what you did and what came of it, in your own words, in at least 50 characters: they are kept, and may be checked. The next step comes with the next message. Only completing its last step ends your work: no response does.`;
}

const COMPLETE: Readonly<Record<AgentManifest['dialect'], string>> = {
  tags: 'When it is done, end it in the same turn with <action type="internal">{"name": "complete_step", "parameters": {"notes": "…"}}</action>.',
  tools: 'When it is done, end it in the same turn with a call of "complete_step".',
  step: 'When it is done, end it in the same turn with "is_complete": true and "notes"; that counts only if all "tool_calls" of the turn succeed.',
};

/** Which feeds there are: their values stand at the end of the messages. */
function feedList({ context_feeds: feeds }: AgentManifest): string {
  const lines = feeds.flatMap((feed) => {
    if (!('source' in feed)) return [];
    const when =
      feed.inject === 'reference'
        ? `not shown, only loaded where $${feed.id} names it`
        : feed.type === 'periodic'
          ? `renewed every ${(feed.interval?.ms ?? 0) / 1000} s`
          : 'as of each turn';
    return [`- ${feed.id}: ${when}`];
  });
  if (lines.length === 0) return '';
  return `# Context feeds\n\nWhat is kept fresh for you stands in <context_feed> blocks at the end of messages. One that is not shown again has not changed. In parameters and responses $ID stands for a feed's value.\n\n${lines.join('\n')}`;
}

function limitsNote({ limits }: AgentManifest, acts: boolean): string {
  const parallel = acts ? ` At most ${limits.parallel_actions} actions run side by side; others wait.` : '';
  return `You have at most ${limits.turns} turns.${parallel}`;
}

const sentence = (text: string) => oneLine(text).replace(/[^.!?…]$/, '$&.');
const oneLine = (text: string) => text.trim().replaceAll(/\s*\n\s*/g, ' ');
const compact = (value: Json) => JSON.stringify(value);
