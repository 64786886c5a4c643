/** What stands for the names of WorkRail's context in `${…}`. */
export interface TemplateNames {
  /** `vars.x`, or the item of a loop. */
  reference(name: string): string;
  /** What an extension point is bound to; undefined where there is none. */
  binding(slot: string): string | undefined;
  /** What `{{…}}` works out, as a reference; undefined where it stays as it is. */
  computed(expression: string): string | undefined;
}

const TOKEN = /\{\{([^{}]*)\}\}/g;
const PATH = /^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*$/;

/**
 * A text of WorkRail's as a template of ours: `{{a.b}}` becomes a reference that says so where there is nothing, as
 * WorkRail does; a `${` of its own stays one. What works something out (`{{i + 1}}`) is worked out by a script.
 */
export function toTemplate(text: string, names: TemplateNames): string {
  let out = '';
  let at = 0;
  for (const found of text.matchAll(TOKEN)) {
    const put = replacement(found[1]?.trim() ?? '', names);
    if (put === undefined) continue;
    const before = plainText(text.slice(at, found.index));
    // Dollars that come to stand before ours would change what it means.
    out += put.startsWith('${') ? before.replace(/\$+$/, (dollars) => dollars + dollars) : before;
    out += put;
    at = found.index + found[0].length;
  }
  return out + plainText(text.slice(at));
}

function replacement(token: string, names: TemplateNames): string | undefined {
  const slot = /^wr\.bindings\.(\w+)$/.exec(token)?.[1];
  if (slot !== undefined) {
    const bound = names.binding(slot);
    return bound === undefined ? undefined : plainText(bound);
  }
  const [root = '', ...rest] = token.split('.');
  if (root === 'wr') return undefined;
  if (!PATH.test(token) || rest.at(-1) === 'length') {
    const reference = names.computed(token);
    return reference === undefined ? undefined : `\${${reference}}`;
  }
  return `\${${[names.reference(root), ...rest].join('.')} ?? '[unset: ${token}]'}`;
}

/** Text that holds no reference: two dollars before a brace are one. */
export const plainText = (text: string): string => text.replace(/\$+(?=\{)/g, (dollars) => dollars + dollars);
