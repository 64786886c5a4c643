import type { Json } from '../kernel/json.ts';
import type { AgentManifest } from '../manifest/schema/kinds.ts';
import { describeField } from './describe-field.ts';
import type { DescribedTarget } from './described-target.ts';
import { createEscape, type Escape } from './escape.ts';
import { tagsPrimer } from './tags-primer.ts';

export interface PrimerOptions {
  /** All permitted targets but the internal actions, in the manifest's order. */
  readonly targets: readonly DescribedTarget[];
  readonly internalActions: readonly Omit<DescribedTarget, 'kind'>[];
  /** The session's key, where `protocol.seal` is on. */
  readonly sealKey?: string | undefined;
}

/** The system prompt of a session: the manifest's instructions and the primer. Never changes within it. */
export function systemPrompt(agent: AgentManifest, options: PrimerOptions): string {
  const instructions = agent.instructions.trim();
  return instructions === '' ? primer(agent, options) : `${instructions}\n\n${primer(agent, options)}`;
}

/**
 * How this agent's model acts, and on what. Descriptions and schemas of targets are text from outside (a server may
 * have written them) and are escaped as such.
 */
export function primer(agent: AgentManifest, options: PrimerOptions): string {
  const safe = createEscape(options.sealKey);
  return [
    dialectPrimer(agent, options),
    targetList(options.targets, safe),
    internalList(options.internalActions, safe),
    templateList(agent.action_templates, safe),
    metadataList(agent, safe),
    variableList(agent, safe),
    outputNote(agent),
    limitsNote(agent, options.targets.length + options.internalActions.length > 0),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

function dialectPrimer(agent: AgentManifest, { targets, internalActions, sealKey }: PrimerOptions): string {
  switch (agent.dialect) {
    case 'tags':
      return tagsPrimer(agent, {
        targets,
        sealKey,
        acts: targets.length + internalActions.length > 0,
      });
    // What these dialects say of themselves comes with them: their tools carry their own descriptions.
    case 'tools':
    case 'step':
      return '';
  }
}

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

function templateList(templates: AgentManifest['action_templates'], safe: Escape): string {
  const lines = Object.entries(templates).map(
    ([name, template]) => `- ${safe(`"${name}": ${JSON.stringify(template, inSeconds)}`)}`,
  );
  if (lines.length === 0) return '';
  return `# Action templates\n\nAn action with "template": "NAME" takes what it does not set itself from the template.\n\n${lines.join('\n')}`;
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

function outputNote({ output }: AgentManifest): string {
  if (output === undefined) return '';
  return `# The final response\n\nIt must be one JSON value that satisfies this JSON Schema, and nothing else, not even a code fence: ${compact(output.schema)}`;
}

function limitsNote({ limits }: AgentManifest, acts: boolean): string {
  const parallel = acts ? ` At most ${limits.parallel_actions} actions run side by side; others wait.` : '';
  return `You have at most ${limits.turns} turns.${parallel}`;
}

const sentence = (text: string) => oneLine(text).replace(/[^.!?…]$/, '$&.');
const oneLine = (text: string) => text.trim().replaceAll(/\s*\n\s*/g, ' ');
const compact = (value: Json) => JSON.stringify(value);
