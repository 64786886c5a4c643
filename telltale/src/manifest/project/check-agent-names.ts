import type { NameUse } from '../../conditions/cel/names.ts';
import { parseExpression } from '../../conditions/cel/parse-expression.ts';
import { readComparisons } from '../../conditions/cel/read-comparisons.ts';
import { TYPE_NAMES } from '../../conditions/cel/value.ts';
import type { PathSegment } from '../../conditions/issue.ts';
import { parseTemplate } from '../../conditions/templates/parse-template.ts';
import { nearest } from '../../kernel/nearest.ts';
import type { Issue } from '../issue.ts';
import { checkComparison, type Declared, unknownName } from '../schema/checks/check-condition-values.ts';
import { STEP_ROOTS, templatesOf } from '../schema/checks/check-workflow-names.ts';
import type { DocumentNode } from '../schema/checks/document-node.ts';

/** What stands in tests beside the variables, which are bare names there. */
const TEST_ROOTS: readonly string[] = [...STEP_ROOTS, 'metadata', 'actions', 'event', ...TYPE_NAMES];

/**
 * `metadata.NAME`, `vars.NAME` and bare variables in the test of a trigger: those that the agent does not have, and those
 * that are compared with what they never are.
 */
export function checkAgentTest(
  place: DocumentNode,
  metadata: Declared,
  variables: Declared,
): readonly Issue[] {
  const source = place.text() ?? '';
  const parsed = parseExpression(source);
  if (!parsed.ok) return [];
  const unknown = parsed.value.names.flatMap((use): readonly Issue[] => {
    const read = readOf(use, metadata, variables);
    if (read === undefined || read.declared.named.has(read.name)) return [];
    const { offset } = use;
    const issue = { ...unknownName(place, read.name, read.declared), at: 'value', offset } as const;
    return [read.declared === metadata ? issue : mayBeGiven(issue)];
  });
  const known = new Set(parsed.value.names.map(({ offset }) => offset));
  const never = readComparisons(source).flatMap(({ name: use, operator, value }): readonly Issue[] => {
    // What a macro binds is no free name.
    const read = known.has(use.offset) && use.path.length <= 1 ? readOf(use, metadata, variables) : undefined;
    const field = read?.declared.named.get(read.name);
    if (read === undefined || field === undefined || isInside(use)) return [];
    const asked = { name: read.name, field, declared: read.declared };
    return checkComparison(place, { operator, value }, asked).map((issue) => ({
      ...issue,
      offset: use.offset,
      severity: operator === '!=' ? 'warning' : issue.severity,
    }));
  });
  return [...unknown, ...never];
}

/** `state.done` looks into a variable; `metadata.done` is a field. */
const isInside = ({ root, path }: NameUse): boolean =>
  root !== 'metadata' && root !== 'vars' && path.length > 0;

/** Which field or variable a name is. */
function readOf(
  { root, path: [member] }: NameUse,
  metadata: Declared,
  variables: Declared,
): { readonly name: string; readonly declared: Declared } | undefined {
  if (root === 'metadata' || root === 'vars')
    return typeof member === 'string'
      ? { name: member, declared: root === 'vars' ? variables : metadata }
      : undefined;
  // One that is nearly the name of something else is told of where the document is looked at by itself.
  const isOther = TEST_ROOTS.includes(root) || nearest(root, STEP_ROOTS) !== undefined;
  return isOther ? undefined : { name: root, declared: variables };
}

/** `${agent.metadata.NAME}` and `${agent.variables.NAME}` in the texts of a step. */
export function checkAgentReferences(
  step: DocumentNode,
  metadata: Declared,
  variables: Declared,
): readonly Issue[] {
  return templatesOf(step).flatMap(({ text, place }) => {
    const parsed = parseTemplate(text);
    if (!parsed.ok) return [];
    return parsed.value.pieces.flatMap((piece) => {
      if (piece.kind !== 'reference') return [];
      const { offset } = piece;
      const others = piece.otherwise.flatMap((other) => (other.kind === 'reference' ? [other] : []));
      return [piece, ...others].flatMap(({ root, path }) => {
        const issue = root === 'agent' ? unknownMember(place, path, metadata, variables) : undefined;
        if (issue === undefined) return [];
        const isOptional = piece.otherwise.length > 0;
        return [{ ...issue, at: 'value', offset, ...(isOptional ? { severity: 'warning' } : {}) } as Issue];
      });
    });
  });
}

function unknownMember(
  place: DocumentNode,
  [part, name]: readonly PathSegment[],
  metadata: Declared,
  variables: Declared,
): Issue | undefined {
  if (typeof name !== 'string' || (part !== 'metadata' && part !== 'variables')) return undefined;
  const declared = part === 'metadata' ? metadata : variables;
  if (declared.named.has(name)) return undefined;
  const issue = unknownName(place, name, declared);
  return declared === metadata ? issue : mayBeGiven(issue);
}

/** Whoever starts a session may give it variables that nobody has declared. */
const mayBeGiven = (issue: Issue): Issue => ({ ...issue, severity: 'warning' });
