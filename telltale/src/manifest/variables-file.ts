import type { z } from 'zod';
import type { Json } from '../lib/json.ts';
import { type Diagnostic, type Finding, type Issue, MANIFEST_LIMITS } from './diagnostic.ts';
import type { Env } from './environment.ts';
import { type OpenDocument, openDocument } from './open-document.ts';
import { checkVariables, VARIABLE_CLASSES } from './schema/checks/check-variables.ts';
import { type DocumentNode, documentNode } from './schema/checks/document-node.ts';
import { closed } from './schema/closed.ts';
import { contextVariables } from './schema/context-variables.ts';
import { frozenCopy, isMap } from './schema/plain-values.ts';
import { orderIssues, plainDocument, runSchema } from './schema/run-schema.ts';
import { nonEmptyText } from './schema/values.ts';
import { diagnose, type SourceText } from './source-text.ts';

/** The name of the variables file next to agents. */
export const VARIABLES_FILE = 'context_variables.json';

type VariablesVariableClass = (typeof VARIABLE_CLASSES)[number];

/** A `context_variables.json`, as far as it could be read. */
export interface VariablesBeside {
  readonly lists: Readonly<Record<VariablesVariableClass, readonly Json[]>>;
  /** Undefined if it could not be read at all. The variables that it would have declared are then not known. */
  readonly document?: OpenDocument;
  /** Whether it has an error, so that no agent next to it can be used. */
  readonly isBroken: boolean;
}

export interface ReadVariables {
  readonly variables: VariablesBeside;
  readonly diagnostics: readonly Diagnostic[];
}

/** Reads and checks a `context_variables.json` on its own. */
export function readVariables(source: SourceText, env: Env): ReadVariables {
  const opened = openDocument(source, { text: source.text, base: 0 }, env);
  if (opened === 'empty') return unreadVariables([diagnose(source, { start: 0, end: 1 }, EMPTY)]);
  if ('diagnostics' in opened) return unreadVariables(opened.diagnostics);
  const problems = opened.problems.slice(0, MANIFEST_LIMITS.diagnostics).map((problem) => problem());
  if (opened.isCut) return unreadVariables(problems);
  const { issues } = checkContextVariablesFile(opened.value);
  const placed = issues
    .filter((issue) => !opened.isEcho(issue))
    .slice(0, MANIFEST_LIMITS.diagnostics)
    .map((issue) => opened.diagnose(issue, issue));
  const isBroken = problems.length > 0 || issues.some(({ severity }) => severity === 'error');
  const { value } = opened;
  const inside = isMap(value) ? value.context_variables : undefined;
  const list = (name: VariablesVariableClass): readonly Json[] => {
    const found = isMap(inside) ? inside[`${name}_variables`] : undefined;
    return Array.isArray(found) ? (found as readonly Json[]) : [];
  };
  const lists = { defined: list('defined'), runtime: list('runtime'), derived: list('derived') };
  return { variables: { lists, document: opened, isBroken }, diagnostics: [...problems, ...placed] };
}

/** For a file that exists but cannot be read. */
export const unreadVariables = (diagnostics: readonly Diagnostic[]): ReadVariables => ({
  variables: { lists: { defined: [], runtime: [], derived: [] }, isBroken: true },
  diagnostics,
});

const EMPTY: Finding = {
  severity: 'error',
  code: 'empty_file',
  message: 'The file is empty.',
  hint: 'Write { "context_variables": { "runtime_variables": [] } }, or delete the file.',
};

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
