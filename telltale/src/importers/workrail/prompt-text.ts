import { REFS } from './known-texts.ts';
import type { FunctionDefinition, PromptBlocks, PromptValue } from './shape-step.ts';

/** Parts of a prompt under their headings; empty ones are left out. */
export const sections = (parts: readonly (string | undefined)[]): string =>
  parts.filter((part) => part !== undefined && part.trim() !== '').join('\n\n');

export const section = (heading: string, lines: readonly string[]): string | undefined =>
  lines.length === 0 ? undefined : `## ${heading}\n${lines.join('\n')}`;

export const bullets = (items: readonly string[]): readonly string[] => items.map((item) => `- ${item}`);

/** Prompt blocks in WorkRail's order. `unknown` hears of texts that are referred to and not known. */
export function blocksText(blocks: PromptBlocks, unknown: (ref: string) => void): string {
  const say = (value: PromptValue) => valueText(value, unknown);
  const { goal, constraints = [], procedure = [], outputRequired = {}, verify = [] } = blocks;
  return sections([
    goal === undefined ? undefined : section('Goal', [say(goal)]),
    section('Constraints', bullets(constraints.map(say))),
    section(
      'Procedure',
      procedure.map((value, index) => `${index + 1}. ${say(value)}`),
    ),
    section(
      'Output required',
      Object.entries(outputRequired).map(([key, value]) => `- **${key}**: ${value}`),
    ),
    section('Verify', bullets(verify.map(say))),
  ]);
}

function valueText(value: PromptValue, unknown: (ref: string) => void): string {
  if (typeof value === 'string') return value;
  return value
    .map(({ kind, text = '', refId = '' }) => {
      if (kind === 'text') return text;
      const known = Object.hasOwn(REFS, refId) ? REFS[refId] : undefined;
      if (known === undefined) unknown(refId);
      return known ?? `(${refId})`;
    })
    .join('');
}

/** What functions mean that a prompt speaks of. */
export const functionsText = (functions: readonly FunctionDefinition[]): string | undefined =>
  section(
    'Functions this step speaks of',
    functions.map(({ name, parameters = [], definition }) => {
      const taken = parameters.map(
        (each) => `${each.name}${each.required === false ? '?' : ''}: ${each.type}`,
      );
      return `- \`${name}(${taken.join(', ')})\`: ${definition}`;
    }),
  );
