import { nearest } from '../../kernel/nearest.ts';
import type { Diagnostic, Finding } from '../diagnostic.ts';
import { quoted } from '../printable.ts';
import { type DocumentNode, documentNode } from '../schema/checks/document-node.ts';
import { stepLists } from '../schema/checks/workflow-steps.ts';
import { BUILTIN_TOOLS } from '../schema/imports.ts';
import type { AgentScope } from './agent-scope.ts';
import type { ProjectDocument } from './project-document.ts';

/** What steps name that whoever works on them has to be able to call. */
const LISTS = { task: 'evidence', plan: 'tools' } as const;
const KINDS = ['tool', 'relic', 'agent', 'workflow'] as const;

/**
 * The evidence of a task and the tools of a plan, held against what the agent that works on it can call: the step's own,
 * or each that imports the workflow. Where that cannot be known it is a warning.
 */
export function checkCallable(
  documents: readonly ProjectDocument[],
  scopes: readonly AgentScope[],
): Diagnostic[] {
  return documents.flatMap((each) => {
    if (each.kind !== 'Workflow') return [];
    const importers = scopes.filter(({ documents: inside }) => inside.has(each));
    return stepLists(documentNode(each.document.value))
      .flatMap(({ steps }) => steps)
      .flatMap((step) =>
        namesIn(step).flatMap((place) => {
          const workers = workersOf(step, importers, scopes);
          const name = place.text() ?? '';
          const finding = workers.length === 0 ? unplaced(name, documents) : missing(name, workers);
          return finding === undefined
            ? []
            : [each.document.diagnose({ path: place.path, at: 'value' }, finding)];
        }),
      );
  });
}

function namesIn(step: DocumentNode): readonly DocumentNode[] {
  const type = step.at('type').value;
  if (type !== 'task' && type !== 'plan') return [];
  return step
    .at(LISTS[type])
    .items()
    .filter((item) => item.text() !== undefined);
}

/** None where it is not known who works on it: the agent is in a file that was not read, or nobody imports it. */
function workersOf(
  step: DocumentNode,
  importers: readonly AgentScope[],
  scopes: readonly AgentScope[],
): readonly AgentScope[] {
  const agent = step.at('agent').text();
  return agent === undefined ? importers : scopes.filter((scope) => scope.agent.name === agent);
}

function missing(name: string, workers: readonly AgentScope[]): Finding | undefined {
  const without = workers.find((scope) => !canCall(name, scope));
  if (without === undefined) return undefined;
  const known = KINDS.flatMap((kind) => [...without.names[kind]]);
  const near = nearest(name, known);
  const isCertain = !KINDS.some((kind) => without.partial.has(kind));
  return {
    severity: isCertain ? 'error' : 'warning',
    code: 'unknown_target',
    message: `The agent ${quoted(without.agent.name ?? '?')} has no tool, relic, agent or workflow named ${quoted(name)}.`,
    hint:
      near !== undefined
        ? `Did you mean ${quoted(near)}?`
        : known.length === 0
          ? `It imports none. Add it to "import" of ${without.agent.label}.`
          : `It has: ${known.slice(0, 20).join(', ')}.`,
  };
}

/** Where it cannot be known who works on the step. */
function unplaced(name: string, documents: readonly ProjectDocument[]): Finding | undefined {
  const isThere = documents.some((each) => each.name === name && CALLED.has(each.kind ?? ''));
  const isBuiltin = [...prefixesOf(name), name].some((part) => BUILTIN_TOOLS.some((tool) => tool === part));
  if (isThere || isBuiltin) return undefined;
  return {
    severity: 'warning',
    code: 'unknown_target',
    message: `No tool, relic, agent or workflow named ${quoted(name)} is among the manifests that were checked.`,
    hint: 'Validate it together with the agent that works on this step.',
  };
}

const CALLED: ReadonlySet<string> = new Set(['Tool', 'Relic', 'Agent', 'Workflow']);

/** A tool may be one of several that a server or a built-in brings: `github.create_issue`, `filesystem_read`. */
function canCall(name: string, { names }: AgentScope): boolean {
  if (KINDS.some((kind) => names[kind].has(name))) return true;
  return prefixesOf(name).some(
    (prefix) =>
      names.server.has(prefix) || (names.tool.has(prefix) && BUILTIN_TOOLS.some((tool) => tool === prefix)),
  );
}

const prefixesOf = (name: string): readonly string[] =>
  [...name.matchAll(/[./:_]/g)].map(({ index }) => name.slice(0, index));
