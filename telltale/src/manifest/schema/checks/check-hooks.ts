import type { Issue } from '../../issue.ts';
import { isMap } from '../is-map.ts';
import { showValue } from '../show-value.ts';
import { checkHookCommand } from './check-program.ts';
import { type DocumentNode, errorAt } from './document-node.ts';

const ALLOWED = {
  before_action: 'true, false, { refuse: "why" } or { parameters: {…} }',
  after_action: 'true or { result: … }',
} as const;

/** A fallback has to be an answer that counts there, and a command one that can be started as it is written. */
export const checkHooks = (hooks: DocumentNode): readonly Issue[] => [
  ...checkFallbacks(hooks),
  ...hooks.entries().flatMap(([, list]) => list.items().flatMap(checkHookCommand)),
];

/** Hooks that only observe may have any: nobody reads it. */
const checkFallbacks = (hooks: DocumentNode): readonly Issue[] =>
  (['before_action', 'after_action'] as const).flatMap((kind) =>
    hooks
      .at(kind)
      .items()
      .map((hook) => hook.at('fallback'))
      .filter((fallback) => fallback.value !== undefined && !isAnswer(kind, fallback))
      .map((fallback) =>
        errorAt(
          fallback,
          'bad_fallback',
          `The fallback of a hook of "${kind}" cannot be ${showValue(fallback.value)}.`,
          {
            hint: `Allowed: ${ALLOWED[kind]}.`,
          },
        ),
      ),
  );

function isAnswer(kind: keyof typeof ALLOWED, { value }: DocumentNode): boolean {
  if (value === null || value === true) return true;
  if (kind === 'after_action') return isMap(value) && value.result !== undefined;
  if (value === false) return true;
  if (!isMap(value)) return false;
  return typeof value.refuse === 'string' || value.refuse === true || isMap(value.parameters);
}
