import { dirname, resolve } from 'node:path';
import { type Diagnostic, type Finding, quoted } from '../diagnostic.ts';
import { isInside } from '../files.ts';
import {
  bareHost,
  type Decision,
  decide,
  isShut,
  namesHost,
  portOf,
  readHostEntry,
  readRules,
} from '../permission-rules.ts';
import { type DocumentNode, documentNode } from '../schema/checks/document-node.ts';
import type { AgentManifest } from '../schema/kinds.ts';
import type { Rules } from '../schema/permissions.ts';
import { KIND_OF_LIST } from './project.ts';
import type { ImportLink, ProjectDocument } from './project-document.ts';

type ProjectPermissions = AgentManifest['permissions'];

/**
 * Warns about imports that an agent's own permissions do not allow. These are warnings because the same tool may serve
 * another agent. Only agents without mistakes are checked, because the permissions of the others are not known.
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
    const documentsInReach = [...new Set([...imported, ...(byFile.get(owner.file) ?? [])])];
    const tools = documentsInReach.filter(({ kind }) => kind === 'Tool');
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
      ...tools.flatMap((tool) => checkTool(tool, owner, permissions)),
      ...checkUnasked(owner, documentsInReach, permissions),
    ];
  });
}

function uselessBuiltin(name: string, { paths, network, shell }: ProjectPermissions): Finding | undefined {
  if (name === 'shell' && isShut(shell)) return useless(name, 'shell', 'shell: ask');
  if (name === 'http_fetch' && isShut(network)) return useless(name, 'network', 'network: [api.example.com]');
  if ((name === 'filesystem' || name === 'git') && isShut(paths))
    return useless(name, 'paths', 'paths: ["."]');
  return undefined;
}

function checkTool(
  tool: ProjectDocument,
  agent: ProjectDocument,
  permissions: ProjectPermissions,
): Diagnostic[] {
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

type UnaskedPermissions = AgentManifest['permissions'];

/**
 * Feeds and MCP servers are loaded without an action, so nobody can be asked about them. What they reach must be
 * allowed; anything that needs approval is never available.
 */
function checkUnasked(
  agent: ProjectDocument,
  tools: readonly ProjectDocument[],
  { network, paths }: UnaskedPermissions,
): Diagnostic[] {
  const manifest = documentNode(agent.document.value);
  const name = quoted(agent.name ?? '?');
  const host = (place: DocumentNode, what: string): Finding | undefined => {
    const url = hostIn(place.text());
    const decision = url === undefined ? 'allow' : hostDecision(url, network);
    if (url === undefined || decision === 'allow') return undefined;
    return unaskedWarning(
      `${what} is at ${quoted(url.host)}, which the agent ${name} ${decision === 'ask' ? 'needs approval for, but nobody can be asked at this point' : 'may not reach'}.`,
      `Allow it in "permissions: { network }" of ${agent.label}.`,
    );
  };
  const feeds = manifest
    .at('context_feeds')
    .items()
    .flatMap((feed): readonly PermissionsFound[] => {
      const source = feed.at('source');
      const target = source.at('name');
      const what = `The feed ${quoted(feed.at('id').text() ?? '?')}`;
      switch (source.at('type').text()) {
        case 'http':
          return [[target, host(target, what)]];
        case 'file':
        case 'repo':
          return [
            [
              target,
              isPermitted(target.text(), agent, { ...paths, ask: [] })
                ? undefined
                : unaskedWarning(
                    `${what} reads ${quoted(target.text() ?? '')}, which the agent ${name} may not read without approval.`,
                    `Allow it in "permissions: { paths }" of ${agent.label}.`,
                  ),
            ],
          ];
        case 'tool':
          return [[target, needsApproval(target.text(), tools) ? approvalNeeded(what, target) : undefined]];
        default:
          return [];
      }
    });
  const servers = manifest
    .at('import')
    .at('tools')
    .items()
    .map(({ at }): PermissionsFound => {
      const server = at('mcp');
      const url = server.at('url');
      return [url, host(url, `The MCP server ${quoted(server.at('name').text() ?? '?')}`)];
    });
  return [...feeds, ...servers].flatMap(([{ path }, finding]) =>
    finding === undefined ? [] : [agent.document.diagnose({ path, at: 'value' }, finding)],
  );
}

type PermissionsFound = readonly [place: DocumentNode, finding: Finding | undefined];

const needsApproval = (name: string | undefined, tools: readonly ProjectDocument[]): boolean =>
  tools.some(
    (tool) =>
      tool.kind === 'Tool' &&
      tool.name === name &&
      ['always', 'strict'].includes(String(documentNode(tool.document.value).at('approval').value)),
  );

const approvalNeeded = (what: string, target: DocumentNode): Finding =>
  unaskedWarning(
    `${what} calls the tool ${quoted(target.text() ?? '?')}, which needs approval by a person, but a feed cannot ask for it.`,
    'Call it in an action, or remove "approval: always" from the tool.',
  );

const unaskedWarning = (message: string, hint: string): Finding => ({
  severity: 'warning',
  code: 'not_permitted',
  message,
  hint,
});

/** The URL of an address whose host and port contain no parameter. Undefined otherwise. */
function hostIn(url: string | undefined): URL | undefined {
  const origin = /^https?:\/\/[^/?#]*/i.exec(url ?? '')?.[0];
  if (origin === undefined || /[{}$@]/.test(origin)) return undefined;
  return URL.parse(origin) ?? undefined;
}

/** Decides as for a request to the address. */
function hostDecision(url: URL, network: Rules): Decision {
  const [host, port] = [bareHost(url.hostname), portOf(url)];
  return decide(readRules(network, readHostEntry), (entry) => namesHost(entry, host, port)).decision;
}

/** Whether a path that only the manifest names is permitted. Wildcards get the benefit of the doubt. */
function isPermitted(path: string | undefined, agent: ProjectDocument, { allow, ask, deny }: Rules): boolean {
  if (path === undefined || /[{}$]/.test(path)) return true;
  const folder = dirname(agent.file);
  const place = resolve(folder, path);
  const isWild = (entry: string) => /[*?]/.test(entry);
  const holds = (entry: string) => isInside(place, resolve(folder, entry));
  if (deny.some((entry) => !isWild(entry) && holds(entry))) return false;
  return [...allow, ...ask].some((entry) => isWild(entry) || holds(entry));
}
