import { plainText, templateOf } from '../values.ts';

/** What `{{…}}` of WorkRail stands for. */
export interface TemplateNames {
  /** A variable as a reference: `vars.x`, or the item of a loop. */
  reference(name: string): string;
  /** The value of an extension point; undefined if there is none. */
  binding(slot: string): string | undefined;
  /** A reference to the value of an expression; undefined if it stays as it is written. */
  computed(expression: string): string | undefined;
}

/**
 * A text of WorkRail as a template of ours. `{{a.b}}` becomes a reference, with a fallback that says that it is unset, as
 * WorkRail does. An expression (`{{i + 1}}`) refers to a script that computes it.
 */
export const toTemplate = (text: string, names: TemplateNames): string =>
  templateOf(text, /\{\{([^{}]*)\}\}/g, (found) => replacement(found[1]?.trim() ?? '', names));

function replacement(token: string, names: TemplateNames): string | undefined {
  const slot = /^wr\.bindings\.(\w+)$/.exec(token)?.[1];
  const bound = slot === undefined ? undefined : names.binding(slot);
  if (bound !== undefined) return plainText(bound);
  const [root = '', ...rest] = token.split('.');
  if (root === 'wr') return undefined;
  if (/^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*$/.test(token) && rest.at(-1) !== 'length')
    return `\${${[names.reference(root), ...rest].join('.')} ?? '[unset: ${token}]'}`;
  const reference = names.computed(token);
  return reference === undefined ? undefined : `\${${reference}}`;
}

const EXPRESSION = /^[\w\s.+\-*/%()?:<>=!&|,'"[\]]+$/;
const STATEMENT = /=>|(?<![=!<>])=(?!=)|\b(?:new|function|while|for|await)\b/;
const WORD = /(?<![\w.'"])[A-Za-z_]\w*(?![\w'"])/g;
const GLOBALS: ReadonlySet<string> = new Set('true false null undefined Math Number String'.split(' '));

/** An expression over WorkRail's variables as JavaScript; undefined if it is something else. */
export function computedCode(expression: string, reference: (name: string) => string): string | undefined {
  if (!EXPRESSION.test(expression) || STATEMENT.test(expression)) return undefined;
  const code = expression.replace(WORD, (name) => (GLOBALS.has(name) ? name : reference(name)));
  try {
    new Function(`return (${code});`);
  } catch {
    return undefined;
  }
  return `shown(() => ${code}, ${JSON.stringify(expression)})`;
}

/** A script whose result has the value of each piece of code under its key. What fails or is empty counts as unset. */
export const computedScript = (values: ReadonlyMap<string, string>): string => `const shown = (of, text) => {
  try {
    const value = of();
    if (value !== undefined && value !== null && !Number.isNaN(value)) return value;
  } catch {}
  return '[unset: ' + text + ']';
};
({
${[...values].map(([code, key]) => `  ${key}: ${code},`).join('\n')}
})`;

/** A line that introduces variables to set, such as "Set context variables:". */
const INTRODUCTION =
  /\b(?:set|sets|setting|update|capture|record|store|keep|initialize|define|emit|persist)\b.*\b(?:context|variables?|fields?|keys?)\b|^\W*(?:set|capture|context variables?)\b[^.]*:\W*$/i;
const BULLET = /^(\s*)(?:[-*•]|\d+[.)])\s+/;
const FIRST_QUOTED = /^\s*(?:[-*•]|\d+[.)])\s+(?:\*\*)?(?:(?:set|update)\s+)?`([A-Za-z_]\w*)/i;
const QUOTED = /`([A-Za-z_]\w*)(?:\s*[=:][^`]*)?`/g;
const SET =
  /\b(?:set|sets|setting|initialize|increment|update)\s+(?:the\s+)?(?:context\s+)?(?:variables?\s+)?['"`]([A-Za-z_]\w*)/gi;
/** Words that are often quoted next to variables. */
const QUOTED_WORDS: ReadonlySet<string> = new Set(
  (
    'context continue_workflow start_workflow complete_step notesMarkdown output artifacts true false null ' +
    'context_updates continue stop'
  ).split(' '),
);

/**
 * The variables that a prompt tells the agent to set. It guesses on the generous side: a superfluous variable does no
 * harm, but the agent cannot set one that is not declared.
 */
export function namedVariables(text: string): ReadonlySet<string> {
  const found = new Set<string>();
  const add = (name = ''): void => {
    if (/^[A-Za-z_]\w{1,63}$/.test(name) && !QUOTED_WORDS.has(name)) found.add(name);
  };
  /** The indentation of the current list. Deeper bullets explain its entries. */
  let indent: number | undefined;
  let isListing = false;
  for (const line of text.split('\n')) {
    for (const [, name] of line.matchAll(SET)) add(name);
    const bullet = BULLET.exec(line);
    if (isListing && bullet !== null) {
      indent ??= bullet[1]?.length ?? 0;
      if ((bullet[1]?.length ?? 0) <= indent) add(FIRST_QUOTED.exec(line)?.[1]);
    } else if (INTRODUCTION.test(line)) {
      isListing = true;
      indent = undefined;
      if (/context|variable/i.test(line)) for (const [, name] of line.matchAll(QUOTED)) add(name);
    } else if (line.trim() !== '') isListing = false;
  }
  return found;
}
