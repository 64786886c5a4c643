import { suggest } from '../../../kernel/nearest.ts';
import type { Issue } from '../../issue.ts';
import { isFunctionName } from '../function-name.ts';
import { isMap } from '../is-map.ts';
import { checkModule } from './check-script.ts';
import { type DocumentNode, errorAt, warningAt } from './document-node.ts';

const RESERVED = /^genesis_/;

/** An artifact is not the runtime's own; where it has methods, each can be a function's name. */
export function checkArtifact(artifact: DocumentNode): readonly Issue[] {
  return [
    ...checkName(artifact.at('name')),
    ...checkMethods(artifact.at('methods')),
    ...(artifact.has('methods') ? checkSource(artifact) : checkText(artifact.at('source'))),
  ];
}

const CODE = /^\s*export\s+(?:async\s+)?(?:function|const|let)\b/m;

/** Code whose methods were forgotten would be taken for a prompt, and every decision come to its fallback. */
const checkText = (source: DocumentNode): readonly Issue[] =>
  CODE.test(source.text() ?? '')
    ? [
        warningAt(
          source,
          'no_methods',
          'Without "methods", this artifact is the text of a prompt, so no decision can call it.',
          {
            hint: 'List its functions: "methods: { should_continue: { description: … } }".',
            at: 'key',
          },
        ),
      ]
    : [];

/** It must be JavaScript, and have what it is said to have. */
function checkSource(artifact: DocumentNode): readonly Issue[] {
  const source = artifact.at('source');
  const text = source.text();
  // Which of the two counts is not known.
  if (text === undefined || artifact.has('module')) return [];
  const broken = checkModule(source);
  if (broken.length > 0) return broken;
  const functions = [...text.matchAll(/\bfunction\s+([A-Za-z_$][\w$]*)/g)].map(([, name = '']) => name);
  return artifact
    .at('methods')
    .entries()
    .filter(([name]) => isFunctionName(name) && !new RegExp(`\\b${name}\\b`).test(text))
    .map(([name, place]) =>
      errorAt(place, 'unknown_method', `The source has no function "${name}".`, {
        hint: () => suggest(name, functions, 'It has'),
        at: 'key',
      }),
    );
}

function checkName(name: DocumentNode): readonly Issue[] {
  const found = name.text();
  if (found === undefined || !RESERVED.test(found)) return [];
  return [
    errorAt(name, 'reserved_name', `An Artifact cannot be named "${found}".`, {
      hint: 'Names that begin with "genesis_" are reserved for the runtime.',
    }),
  ];
}

function checkMethods(methods: DocumentNode): readonly Issue[] {
  if (!isMap(methods.value)) return [];
  const named = methods.entries();
  if (named.length === 0)
    return [
      errorAt(methods, 'missing', '"methods" is empty.', {
        hint: 'Write "methods: { should_continue: { description: … } }", or remove "methods" if the source is the text of a prompt.',
        at: 'key',
      }),
    ];
  return named.flatMap(([name, place]) =>
    isFunctionName(name) || !/^[A-Za-z_][\w-]*$/.test(name) // what is not a name at all, the schema says
      ? []
      : [
          errorAt(place, 'bad_name', `"${name}" cannot be the name of a function.`, {
            hint: name.includes('-')
              ? `Write "${name.replaceAll('-', '_')}", as in its source.`
              : 'It is a reserved word in JavaScript. Rename the function here and in its source.',
            at: 'key',
          }),
        ],
  );
}
