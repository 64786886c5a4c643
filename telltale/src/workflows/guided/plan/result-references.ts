import { parseTemplate } from '../../../conditions/templates/parse-template.ts';
import { RESERVED_ROOTS } from '../../../conditions/templates/template.ts';
import type { Json, JsonObject } from '../../../kernel/json.ts';
import { toRuntimeError } from '../../../kernel/runtime-error.ts';
import { clip } from '../../../manifest/schema/show-value.ts';
import { readTemplates } from '../../read-templates.ts';
import { resolveDeep } from '../../resolve-deep.ts';

/** Dollars and a brace, and whether what follows can be meant as a result. */
const OTHER = /(\$+)\{(?!\s*results?\b)/g;
const REFERENCE = /(\$+)\{\s*(results?)\b/g;
/** A whole text that was surely meant as a reference, to something that a plan cannot refer to. */
const MISTAKEN = new RegExp(
  `^\\s*\\$\\{\\s*(?:${[...RESERVED_ROOTS, 'output', 'outputs', 'action', 'actions'].join('|')})\\b[^{}]*\\}\\s*$`,
);

/**
 * What stands for a result in the parameters of a plan is `${results[N].path}`, and nothing else is a reference: other
 * `${…}` is text, as it stands in programs, so that no plan reads the run, the agent or the environment.
 */
export function referenceIn(text: string): 'whole' | 'part' | undefined {
  if (text.search(REFERENCE) === -1) return undefined;
  const template = parseTemplate(escapedText(text), { names: ['results'] });
  if (!template.ok) return 'part'; // what is wrong with it is told elsewhere
  const { pieces } = template.value;
  if (pieces.every(({ kind }) => kind === 'text')) return undefined;
  return pieces.length === 1 ? 'whole' : 'part';
}

export function holdsReference(value: Json): boolean {
  if (typeof value === 'string') return referenceIn(value) !== undefined;
  return typeof value === 'object' && value !== null && Object.values(value).some(holdsReference);
}

/** What is wrong with the references of an action that stands at `position`; undefined if nothing is. */
export function wrongReference(parameters: JsonObject, position: number): string | undefined {
  const mistaken = textsIn(parameters).map(mistakenIn).find(Boolean);
  if (mistaken !== undefined) return `"${clip(mistaken)}" refers to nothing. ${RULE}`;
  try {
    const { references } = readTemplates(escaped(parameters), ['results'], 'the parameters');
    for (const { root, path } of references) {
      if (root !== 'results') return `"${root}" cannot be referred to. ${RULE}`;
      const [index] = path;
      if (index === undefined) continue;
      if (typeof index !== 'number')
        return `"results.${clip(index)}" does not exist: results is a list. ${RULE}`;
      if (index >= position)
        return position === 0
          ? `it refers to results[${index}], but there are no results before it.`
          : `it refers to results[${index}], but only results[0] to results[${position - 1}] come before it.`;
    }
    return undefined;
  } catch (thrown) {
    return toRuntimeError(thrown).message;
  }
}

/** The parameters with results in place of what refers to them. Rejects with `bad_reference` or `input_too_large`. */
export const filledParameters = async (
  parameters: JsonObject,
  results: readonly Json[],
  what: string,
): Promise<JsonObject> =>
  (await resolveDeep(
    escaped(parameters),
    { forTemplate: async () => ({ results }) },
    { what, locals: { results } },
  )) as JsonObject;

const RULE = 'Only ${results[N].path} is a reference: N counts the actions from 0.';

const mistakenIn = (text: string): string | undefined => {
  if (MISTAKEN.test(text)) return text.trim();
  const slip = [...text.matchAll(REFERENCE)].find(
    ([, dollars = '', name]) => dollars.length % 2 === 1 && name === 'result',
  );
  return slip === undefined ? undefined : text.slice(slip.index);
};

function textsIn(value: Json): readonly string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

/** With every `${` that is no reference written as the text that it is. */
function escaped(value: Json): Json {
  if (typeof value === 'string') return escapedText(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(escaped);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, escaped(item)]));
}

const escapedText = (text: string): string => text.replace(OTHER, '$1$1{');
