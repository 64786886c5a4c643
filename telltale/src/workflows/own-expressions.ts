import { evaluate } from '../conditions/cel/evaluate.ts';
import { type Expression, parseExpression } from '../conditions/cel/parse-expression.ts';
import type { Json, JsonObject } from '../kernel/json.ts';
import type { WorkflowManifest } from '../manifest/schema/kinds.ts';

/**
 * The derived variables that a workflow declares by `expression`. They are on no log: they follow from the variables
 * that are, and are worked out where one is read.
 */
export interface OwnExpressions {
  readonly names: ReadonlySet<string>;
  /** Their values over those of the others. One that cannot be worked out has its default. */
  over(variables: JsonObject, metadata: JsonObject): JsonObject;
}

interface Expressed {
  readonly name: string;
  readonly byDefault: Json;
  readonly expression: Expression;
}

/** Undefined where the workflow has none. */
export function ownExpressions({
  context_variables: { derived },
}: Pick<WorkflowManifest, 'context_variables'>): OwnExpressions | undefined {
  const all = derived.flatMap(({ name, expression: source, default: byDefault = null }) => {
    const parsed = source === undefined ? undefined : parseExpression(source);
    return parsed?.ok === true ? [{ name, byDefault: byDefault as Json, expression: parsed.value }] : [];
  });
  if (all.length === 0) return undefined;
  const ordered = inOrder(all);
  return {
    names: new Set(all.map(({ name }) => name)),
    over(variables, metadata) {
      const vars: Record<string, Json> = { ...variables };
      const own: Record<string, Json> = {};
      for (const { name, byDefault, expression } of ordered) {
        const value = evaluate(expression, { ...vars, vars, metadata });
        own[name] = value.ok ? value.value : byDefault;
        vars[name] = own[name];
      }
      return own;
    },
  };
}

/** Each behind those that it reads. Validation has refused circles; in one that is there all the same the order is the file's. */
function inOrder(all: readonly Expressed[]): readonly Expressed[] {
  const byName = new Map(all.map((each) => [each.name, each]));
  const ordered = new Set<Expressed>();
  const onTheWay = new Set<Expressed>();
  const add = (each: Expressed) => {
    if (ordered.has(each) || onTheWay.has(each)) return;
    onTheWay.add(each);
    for (const { root, path } of each.expression.names)
      for (const name of root === 'vars' ? path.slice(0, 1) : [root]) {
        const read = byName.get(String(name));
        if (read !== undefined) add(read);
      }
    ordered.add(each);
  };
  for (const each of all) add(each);
  return [...ordered];
}
