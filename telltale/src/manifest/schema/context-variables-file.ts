import type { z } from 'zod';
import type { Issue } from '../diagnostic.ts';
import { checkVariables, VARIABLE_CLASSES } from './checks/check-variables.ts';
import { type DocumentNode, documentNode } from './checks/document-node.ts';
import { closed } from './closed.ts';
import { contextVariables } from './context-variables.ts';
import { frozenCopy } from './plain-values.ts';
import { orderIssues, plainDocument, runSchema } from './run-schema.ts';
import { nonEmptyText } from './values.ts';

export type ContextVariables = z.output<typeof contextVariables>;

const { defined, runtime, derived } = contextVariables.shape;

const file = closed(
  {
    title: 'a context_variables.json',
    slips: {
      defined_variables: 'Put it under "context_variables".',
      derived_variables: 'Put it under "context_variables".',
      runtime_variables: 'Put it under "context_variables".',
    },
  },
  {
    $schema: nonEmptyText('The JSON Schema of this file, for editors.').optional(),
    context_variables: closed(
      {
        title: '"context_variables"',
        slips: {
          defined: 'In this file, use "defined_variables".',
          runtime: 'In this file, use "runtime_variables".',
          derived: 'In this file, use "derived_variables".',
        },
      },
      { defined_variables: defined, runtime_variables: runtime, derived_variables: derived },
    ),
  },
);

/**
 * Checks a `context_variables.json`. Its classes have longer names than in a manifest; the result uses the manifest's
 * names.
 */
export function checkContextVariablesFile(value: unknown): {
  readonly variables?: ContextVariables;
  readonly issues: readonly Issue[];
} {
  const { document, issues } = plainDocument(value);
  if (issues.length > 0) return { issues };
  const { output, issues: structural } = runSchema(file, document);
  const found = orderIssues([
    ...structural,
    ...checkVariables(inFile(documentNode(document).at('context_variables'))),
  ]);
  if (found.some(({ severity }) => severity === 'error')) return { issues: found };
  const { defined_variables, runtime_variables, derived_variables } = output.context_variables;
  return {
    variables: frozenCopy({
      defined: defined_variables,
      runtime: runtime_variables,
      derived: derived_variables,
    }),
    issues: found,
  };
}

/** The same position, with the classes under the manifest's names. */
const inFile = (node: DocumentNode): DocumentNode => ({
  ...node,
  at: (key) => node.at(VARIABLE_CLASSES.some((name) => name === key) ? `${key}_variables` : key),
});
