import type { Issue } from '../../issue.ts';
import { isFunctionName } from '../function-name.ts';
import { type DocumentNode, errorAt } from './document-node.ts';

const RESERVED = /^genesis_/;

/** An artifact is not the runtime's own, and has methods, each of which can be a function's name. */
export function checkArtifact(artifact: DocumentNode): readonly Issue[] {
  return [...checkName(artifact.at('name')), ...checkMethods(artifact.at('methods'))];
}

function checkName(name: DocumentNode): readonly Issue[] {
  const found = name.text();
  if (found === undefined || !RESERVED.test(found)) return [];
  return [
    errorAt(name, 'reserved_name', `An Artifact cannot be named "${found}".`, {
      hint: 'Names that begin with "genesis_" are the runtime\'s own.',
    }),
  ];
}

function checkMethods(methods: DocumentNode): readonly Issue[] {
  if (methods.value === undefined) return [];
  const named = methods.entries();
  if (named.length === 0)
    return [
      errorAt(methods, 'missing', 'An Artifact needs at least one method.', {
        hint: 'Write "methods: { should_continue: { description: … } }".',
        at: 'key',
      }),
    ];
  return named.flatMap(([name, place]) =>
    isFunctionName(name) || !/^[\w-]+$/.test(name) // what is no name at all, the schema says
      ? []
      : [
          errorAt(place, 'bad_name', `"${name}" cannot be the name of a function.`, {
            hint: name.includes('-')
              ? `Write "${name.replaceAll('-', '_')}", as in its source.`
              : 'It means something else in JavaScript: give the function another name, here and in its source.',
            at: 'key',
          }),
        ],
  );
}
