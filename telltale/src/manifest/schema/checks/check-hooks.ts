import { type Issue, quoted } from '../../diagnostic.ts';
import { isMap } from '../plain-values.ts';
import { showValue } from '../show-value.ts';
import { checkScript } from './check-tool.ts';
import { APPROVAL_DECIDES } from './check-variables.ts';
import { type DocumentNode, errorAt, warningAt } from './document-node.ts';

const ALLOWED = {
  before_action: 'true, false, { refuse: "why" } or { parameters: {…} }',
  after_action: 'true or { result: … }',
} as const;

/** A fallback must be a valid answer for its hook, and a command must be a program that can be started. */
export const checkHooks = (hooks: DocumentNode): readonly Issue[] => [
  ...checkFallbacks(hooks),
  ...hooks.entries().flatMap(([, list]) => list.items().flatMap(checkHookCommand)),
];

/** A hook that only observes may have any fallback, because nobody reads it. */
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

/** A script step's JavaScript must parse, or its program must be one that can be started. */
export function checkProgram(step: DocumentNode): readonly Issue[] {
  if (step.at('type').value !== 'script') return [];
  const [program] = step.at('command').items();
  const name = program?.text();
  if (program === undefined || name === undefined) return checkScript(step.at('script'));
  if (name === '') return [noProgram(program)];
  if (!name.includes('${')) return [];
  return [
    errorAt(program, 'bad_command', `The program of a step cannot be a reference: "${name}".`, {
      hint: 'Write the program itself. Its arguments, "cwd", "env" and "stdin" can contain references.',
    }),
  ];
}

/** What a step resolves when it runs. A hook resolves nothing. */
const REFERENCE = /(?<!\$)\$\{\s*(?:agent|trigger|steps|vars|input|run|item)\b[^}]*\}?/;

/** A hook's program must be one that can be started. It gets no references, because nothing would resolve them. */
const checkHookCommand = (hook: DocumentNode): readonly Issue[] =>
  checkFixedCommand(
    hook,
    'a hook',
    'The program gets the call, the metadata and the variables as JSON on standard input.',
  );

/** A verifier's program gets no references: a model's words must not end up in a command line. */
export const checkVerifyCommand = (verify: DocumentNode): readonly Issue[] =>
  checkFixedCommand(
    verify,
    'a verifier',
    'The program gets what it has to verify, the input of the run and the variables as JSON on standard input.',
  );

function checkFixedCommand(hook: DocumentNode, what: string, hint: string): readonly Issue[] {
  const [program] = hook.at('command').items();
  const texts = [
    ...hook.at('command').items(),
    hook.at('cwd'),
    ...hook
      .at('env')
      .entries()
      .map(([, value]) => value),
  ];
  return [
    ...(program?.text() === '' ? [noProgram(program)] : []),
    ...texts.flatMap((place) => {
      const [reference] = REFERENCE.exec(place.text() ?? '') ?? [];
      if (reference === undefined) return [];
      return [
        errorAt(place, 'bad_command', `The command of ${what} cannot contain the reference "${reference}".`, {
          hint,
        }),
      ];
    }),
  ];
}

const noProgram = (place: DocumentNode) =>
  errorAt(place, 'bad_command', 'The program of a command cannot be "".', {
    hint: 'Write the program to start, like "git" or "./check.sh".',
  });

const RUNTIMES_OWN = /^genesis_/;

/**
 * Artifacts that judge an agent's work or allow its actions although the agent may rewrite them. Then the model
 * decides. This is a warning, because an agent that changes its own rules may be intended.
 */
export function checkRewritableGuards(
  guards: readonly { readonly node: DocumentNode; readonly what: string }[],
  agent: DocumentNode,
): readonly Issue[] {
  const { value } = agent.at('permissions').at('artifacts');
  if (!Array.isArray(value) || !value.includes('write')) return [];
  const owner = quoted(agent.at('name').text() ?? '?');
  return guards.flatMap(({ node, what }) => {
    const asked = node.at('invoke');
    const name = asked.text();
    if (name === undefined || RUNTIMES_OWN.test(name)) return [];
    const message = `The artifact ${quoted(name)} is used by ${what}, but the agent ${owner} may rewrite it.`;
    const hint =
      'Remove "write" from "permissions: { artifacts }", or let a command, a model or a person decide.';
    return [warningAt(asked, 'model_controlled', message, { hint })];
  });
}

/** The decisions about the agent in a workflow's steps. */
export const guardsOf = (workflow: DocumentNode, steps: readonly DocumentNode[]) => [
  ...steps.map((step) => ({ node: step.at('verify'), what: 'a verifier' })),
  ...steps
    .filter((step) => step.at('type').value === 'approval')
    .flatMap((step) => APPROVAL_DECIDES.map((key) => ({ node: step.at(key), what: 'an approval' }))),
  ...hookGuards(workflow),
  ...steps.flatMap(hookGuards),
];

/** Hooks that run before each action and may refuse it. */
export const hookGuards = (node: DocumentNode) =>
  node
    .at('hooks')
    .at('before_action')
    .items()
    .map((hook) => ({ node: hook, what: 'the hook before_action' }));
