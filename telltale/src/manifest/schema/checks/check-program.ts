import type { Issue } from '../../issue.ts';
import { checkScript } from './check-script.ts';
import { type DocumentNode, errorAt } from './document-node.ts';

/** A script step's JavaScript can be read, or its program is one that can be started. */
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

/** What a step resolves when it runs; a hook resolves nothing. */
const REFERENCE = /(?<!\$)\$\{\s*(?:agent|trigger|steps|vars|input|run|item)\b[^}]*\}?/;

/** A hook's program can be started, and is given no references: nobody would resolve them. */
export const checkHookCommand = (hook: DocumentNode): readonly Issue[] =>
  checkFixedCommand(
    hook,
    'a hook',
    'The program gets the call, the metadata and the variables as JSON on standard input.',
  );

/** A verifier's program is given no references: what a model has said must not come to stand in a command line. */
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
