import type { Diagnostic, Finding } from '../diagnostic.ts';
import { isShut } from '../permissions/decide.ts';
import { quoted } from '../printable.ts';
import { type DocumentNode, documentNode } from '../schema/checks/document-node.ts';
import type { AgentManifest } from '../schema/kinds.ts';
import { checkUnasked } from './check-unasked.ts';
import { hostDecision, hostIn, isPermitted } from './permitted-places.ts';
import { KIND_OF_LIST } from './project.ts';
import type { ImportLink, ProjectDocument } from './project-document.ts';

type Permissions = AgentManifest['permissions'];

/**
 * What an agent imports and its own permissions do not let it use: warnings, since the same tool may serve another
 * agent. Only of agents without a mistake of their own, whose permissions are known.
 */
export function checkPermissions(
  documents: readonly ProjectDocument[],
  byOwner: ReadonlyMap<ProjectDocument, readonly ImportLink[]>,
  byFile: ReadonlyMap<string, readonly ProjectDocument[]>,
): Diagnostic[] {
  return documents.flatMap((owner) => {
    const { manifest } = owner.document;
    if (manifest?.kind !== 'Agent') return [];
    const links = byOwner.get(owner) ?? [];
    const { permissions } = manifest;
    const builtins = links.flatMap(({ entry: { list, index, what } }) => {
      const finding = what.type === 'builtin' ? uselessBuiltin(what.name, permissions) : undefined;
      const at = { path: ['import', list, index], at: 'value' } as const;
      return finding === undefined ? [] : [owner.document.diagnose(at, finding)];
    });
    const imported = links.flatMap(({ entry, files }) =>
      files.flatMap((file) => byFile.get(file) ?? []).filter(({ kind }) => kind === KIND_OF_LIST[entry.list]),
    );
    const tools = new Set([...imported, ...(byFile.get(owner.file) ?? [])]);
    const manifests = permissions.manifests.flatMap((path, index) =>
      isPermitted(path, owner, permissions.paths)
        ? []
        : [
            owner.document.diagnose(
              { path: ['permissions', 'manifests', index], at: 'value' },
              manifestsShut(path),
            ),
          ],
    );
    return [
      ...builtins,
      ...manifests,
      ...[...tools].flatMap((each) => (each.kind === 'Tool' ? checkTool(each, owner, permissions) : [])),
      ...checkUnasked(owner, [...tools], permissions),
    ];
  });
}

function uselessBuiltin(name: string, { paths, network, shell }: Permissions): Finding | undefined {
  if (name === 'shell' && isShut(shell)) return useless(name, 'shell', 'shell: ask');
  if (name === 'http_fetch' && isShut(network)) return useless(name, 'network', 'network: [api.example.com]');
  if ((name === 'filesystem' || name === 'git') && isShut(paths))
    return useless(name, 'paths', 'paths: ["."]');
  return undefined;
}

function checkTool(tool: ProjectDocument, agent: ProjectDocument, permissions: Permissions): Diagnostic[] {
  const implementation = documentNode(tool.document.value).at('implementation');
  const url = implementation.at('http').at('url');
  const cwd = implementation.at('cwd');
  const host = hostIn(url.text());
  const findings: readonly (readonly [DocumentNode, Finding | undefined])[] = [
    [
      url,
      host === undefined || hostDecision(host, permissions.network) !== 'deny'
        ? undefined
        : hostShut(host, agent),
    ],
    [
      cwd,
      isPermitted(cwd.text(), agent, permissions.paths) ? undefined : folderShut(cwd.text() ?? '', agent),
    ],
  ];
  return findings.flatMap(([{ path }, finding]) =>
    finding === undefined ? [] : [tool.document.diagnose({ path, at: 'value' }, finding)],
  );
}

const warning = (message: string, hint: string): Finding => ({
  severity: 'warning',
  code: 'not_permitted',
  message,
  hint,
});

const useless = (name: string, key: string, example: string) =>
  warning(
    `The tool ${quoted(name)} has no effect, because "permissions.${key}" allows nothing.`,
    `Write "permissions: { ${example} }", or remove the tool.`,
  );

const manifestsShut = (path: string) =>
  warning(
    `The agent may not use ${quoted(path)}, so "permissions.manifests" has no effect there.`,
    'Add it to "permissions: { paths }" as well.',
  );

const hostShut = ({ host }: URL, agent: ProjectDocument) =>
  warning(
    `The agent ${quoted(agent.name ?? '?')} may not reach the host ${quoted(host)}.`,
    `Add it to "permissions: { network }" of ${agent.label}.`,
  );

const folderShut = (cwd: string, agent: ProjectDocument) =>
  warning(
    `The folder ${quoted(cwd)} is outside the folders that the agent ${quoted(agent.name ?? '?')} may use.`,
    `Add it to "permissions: { paths }" of ${agent.label}. Otherwise it is read-only in the sandbox.`,
  );
