import { nearest } from '../../kernel/nearest.ts';
import type { Diagnostic, Finding } from '../diagnostic.ts';
import { quoted } from '../printable.ts';
import { BUILTIN_TOOLS } from '../schema/imports.ts';
import { isModelRef } from '../schema/model-ref.ts';
import type { AgentScope } from './agent-scope.ts';
import type { ProjectDocument } from './project-document.ts';
import { collectReferences, type Reference, type ReferenceTo } from './references.ts';

const KIND_OF: Partial<Record<ReferenceTo, string>> = {
  tool: 'Tool',
  relic: 'Relic',
  agent: 'Agent',
  workflow: 'Workflow',
  artifact: 'Artifact',
  viewer: 'Agent',
};

const WORD: Record<ReferenceTo, string> = {
  tool: 'tool',
  relic: 'relic',
  agent: 'agent',
  workflow: 'workflow',
  artifact: 'artifact',
  prompt: 'prompt',
  model: 'model',
  server: 'MCP server',
  viewer: 'agent',
};

/**
 * Names that lead nowhere. An agent's document, and what it imports, is held against that agent's imports; a workflow
 * that no agent here imports can only be held against all documents, so for it a miss is a warning.
 */
export function checkReferences(
  documents: readonly ProjectDocument[],
  scopes: readonly AgentScope[],
): Diagnostic[] {
  return documents.flatMap((each) => {
    const own = scopes.filter(({ agent, documents: inside }) =>
      each.kind === 'Agent' ? agent === each : inside.has(each),
    );
    return collectReferences(each).flatMap((reference) => {
      const isPlaced = own.length > 0 && reference.to !== 'viewer';
      const finding = isPlaced ? missing(reference, own, documents) : unplaced(reference, documents);
      if (finding !== undefined)
        return [each.document.diagnose({ path: reference.path, at: 'value' }, finding)];
      const noMethod = isPlaced ? methodMissing(reference, own) : undefined;
      const path = [...reference.path.slice(0, -1), 'method'];
      return noMethod === undefined ? [] : [each.document.diagnose({ path, at: 'value' }, noMethod)];
    });
  });
}

function missing(
  reference: Reference,
  scopes: readonly AgentScope[],
  documents: readonly ProjectDocument[],
): Finding | undefined {
  const scope = scopes.find(({ names }) => !isKnown(reference, names[reference.to], names.server));
  if (scope === undefined) return undefined;
  const { to, name } = reference;
  const known = [...scope.names[to]];
  const isCertain = to !== 'artifact' && !scope.partial.has(to);
  // Where an import has failed and nothing looks like a slip, the failed import is what to mend.
  if (scope.partial.has(to) && scope.names.server.size === 0 && nearest(name, known) === undefined)
    return undefined;
  return {
    severity: isCertain ? 'error' : 'warning',
    code: `unknown_${to}`,
    message: `The agent ${quoted(scope.agent.name ?? '?')} ${HAS[to]} no ${WORD[to]} named ${quoted(name)}.`,
    hint: hintFor(reference, known, scope, documents),
  };
}

/** A method that the artifact's manifest does not name. A version that is written later may have it. */
function methodMissing({ to, name, method }: Reference, scopes: readonly AgentScope[]): Finding | undefined {
  if (to !== 'artifact' || method === undefined) return undefined;
  for (const { documents } of scopes)
    for (const { kind, name: own, document } of documents) {
      if (kind !== 'Artifact' || own !== name || document.manifest?.kind !== 'Artifact') continue;
      const methods = Object.keys(document.manifest.methods ?? {});
      if (methods.includes(method)) continue;
      const near = nearest(method, methods);
      return {
        severity: 'warning',
        code: 'unknown_method',
        message: `The artifact ${quoted(name)} has no method ${quoted(method)}.`,
        hint:
          near === undefined
            ? `It has: ${methods.join(', ')}. Until this method exists, the fallback is used.`
            : `Did you mean ${quoted(near)}?`,
      };
    }
  return undefined;
}

const HAS: Record<ReferenceTo, string> = {
  tool: 'imports',
  relic: 'imports',
  agent: 'imports',
  workflow: 'imports',
  artifact: 'imports',
  prompt: 'has',
  model: 'has',
  server: 'imports',
  viewer: 'imports',
};

function hintFor(
  { to, name }: Reference,
  known: readonly string[],
  scope: AgentScope,
  documents: readonly ProjectDocument[],
): string {
  const elsewhere = documents.find((each) => each.kind === KIND_OF[to] && each.name === name);
  if (elsewhere !== undefined)
    return `${elsewhere.label}:${elsewhere.line} defines it: add that file to "import.${to}s" of ${scope.agent.label}.`;
  if (to === 'tool' && BUILTIN_TOOLS.some((tool) => tool === name))
    return `It is built in: add "builtin:${name}" to "import.tools".`;
  const near = nearest(name, known);
  if (near !== undefined) return `Did you mean ${quoted(near)}?`;
  if (to === 'artifact') return 'Until it exists, the fallback is used.';
  const where =
    to === 'prompt' || to === 'model'
      ? `"${to}s"`
      : to === 'server'
        ? 'the MCP servers of "import.tools"'
        : `"import.${to}s"`;
  return known.length === 0
    ? `It imports none. Add it to ${where} of ${scope.agent.label}.`
    : `Known: ${known.slice(0, 20).join(', ')}. Or add it to ${where} of ${scope.agent.label}.`;
}

function unplaced(reference: Reference, documents: readonly ProjectDocument[]): Finding | undefined {
  const kind = KIND_OF[reference.to];
  if (kind === undefined || reference.to === 'artifact') return undefined;
  const names = new Set(
    documents.flatMap((each) => (each.kind === kind && each.name !== undefined ? [each.name] : [])),
  );
  if (reference.to === 'tool') for (const tool of BUILTIN_TOOLS) names.add(tool);
  if (isKnown(reference, names, new Set())) return undefined;
  const near = nearest(reference.name, names);
  return {
    severity: 'warning',
    code: `unknown_${reference.to === 'viewer' ? 'agent' : reference.to}`,
    message: `No ${WORD[reference.to]} named ${quoted(reference.name)} is among the manifests that were checked.`,
    hint:
      near === undefined
        ? 'Validate it together with the agent that imports this file.'
        : `Did you mean ${quoted(near)}?`,
  };
}

/** A tool may be one of several that a server or a built-in brings: `github.create_issue`, `filesystem_read`. */
function isKnown({ to, name }: Reference, names: ReadonlySet<string>, servers: ReadonlySet<string>): boolean {
  if (names.has(name) || (to === 'model' && isModelRef(name))) return true;
  if (to !== 'tool') return false;
  const prefixes = [...name.matchAll(/[./:_]/g)].map(({ index }) => name.slice(0, index));
  return prefixes.some(
    (prefix) => servers.has(prefix) || (names.has(prefix) && BUILTIN_TOOLS.some((tool) => tool === prefix)),
  );
}
