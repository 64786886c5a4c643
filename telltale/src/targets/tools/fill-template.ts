import { asText } from '../../conditions/as-text.ts';
import { parseTemplate } from '../../conditions/templates/parse-template.ts';
import { resolveTemplate } from '../../conditions/templates/resolve-template.ts';
import type { Template } from '../../conditions/templates/template.ts';
import type { Json, JsonObject } from '../../kernel/json.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';

/** What a template sees: `{name}` of the parameters, `${agent.…}` of the snapshot. */
export interface FillScope {
  readonly input: JsonObject;
  readonly agent: JsonObject;
}

/** The scope of one call: the snapshot is read only by a template that names it. */
export const fillScope = (input: JsonObject, call: { readonly agent: () => JsonObject }): FillScope => ({
  input,
  get agent() {
    return call.agent();
  },
});

/** A text of a manifest with `{name}` and `${agent.…}` in it, read once. */
export interface Filling {
  /** Whether it depends on parameters. */
  readonly usesInput: boolean;
  /** Names in braces. */
  readonly names: readonly string[];
  /** As text. Values are put in once and never read for references; `encode` is for what stands in an address. */
  fill(scope: FillScope, encode?: (text: string, offset: number) => string): string;
  /** The value itself where the whole text is one `{name}` or one `${agent.…}`, else as `fill`. */
  value(scope: FillScope): Json | undefined;
}

/** The same braces as the manifest's check looks for: a name and nothing else. */
const BRACES = /(?<!\$)\{([A-Za-z_][A-Za-z0-9_-]*)\}/g;
const WHOLE = /^\{([A-Za-z_][A-Za-z0-9_-]*)\}$/;

/** Stands for all parameters where it is the whole text. Inside a longer text it is text. */
const ALL = '{*}';

const allParameters: Filling = {
  usesInput: true,
  names: [],
  fill: ({ input }) => JSON.stringify(input),
  value: ({ input }) => JSON.stringify(input),
};

/**
 * `declared` are the names that stand for parameters; other braces are text. A parameter that was not given is empty.
 * Without `declared` every name in braces is a parameter. `{*}` alone is all parameters as JSON.
 */
export function readFilling(source: string, what: string, declared?: ReadonlySet<string>): Filling {
  if (source === ALL) return allParameters;
  const parsed = parseTemplate(source);
  if (!parsed.ok) throw badTemplate(source, what, parsed.error[0]?.message ?? '');
  const { pieces } = parsed.value;
  const isParameter = (name: string) => declared === undefined || declared.has(name);
  const whole = WHOLE.exec(source)?.[1];
  const names = pieces.flatMap((piece) =>
    piece.kind === 'text' ? [...piece.text.matchAll(BRACES)].map(([, name = '']) => name) : [],
  );

  const fill: Filling['fill'] = (scope, encode = (text) => text) => {
    let filled = '';
    for (const piece of pieces) {
      if (piece.kind !== 'text') {
        const value = asText(reference({ source: piece.source, pieces: [piece] }, scope, what));
        filled += encode(value, piece.offset);
        continue;
      }
      filled += piece.text.replace(BRACES, (braces, name: string, at: number) =>
        isParameter(name) ? encode(textOf(scope.input, name), piece.offset + at) : braces,
      );
    }
    return filled;
  };

  return {
    usesInput: names.some(isParameter),
    names: [...new Set(names)].filter(isParameter),
    fill,
    value(scope) {
      if (whole !== undefined && isParameter(whole)) return own(scope.input, whole);
      const [only] = pieces;
      if (pieces.length === 1 && only?.kind === 'reference') return reference(parsed.value, scope, what);
      return fill(scope);
    },
  };
}

const own = (input: JsonObject, name: string): Json | undefined =>
  Object.hasOwn(input, name) ? input[name] : undefined;

function textOf(input: JsonObject, name: string): string {
  const value = own(input, name);
  return value === undefined || value === null ? '' : asText(value);
}

function reference(template: Template, scope: FillScope, what: string): Json {
  const resolved = resolveTemplate(template, { agent: scope.agent });
  if (resolved.ok) return resolved.value;
  const { message, hint } = resolved.error;
  throw new RuntimeError('bad_reference', `A template of ${what} cannot be filled: ${message}`, { hint });
}

const badTemplate = (source: string, what: string, why: string) =>
  new RuntimeError('bad_template', `A template of ${what} cannot be read: ${why}`, {
    hint: `It is ${JSON.stringify(source.slice(0, 100))}.`,
  });
