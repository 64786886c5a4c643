import type { Diagnostic, Finding } from '../diagnostic.ts';
import { quoted } from '../printable.ts';
import { type DocumentNode, documentNode } from '../schema/checks/document-node.ts';
import type { AgentManifest } from '../schema/kinds.ts';
import { hostDecision, hostIn, isPermitted } from './permitted-places.ts';
import type { ProjectDocument } from './project-document.ts';

type Permissions = AgentManifest['permissions'];

/**
 * What is loaded without an action, so that nobody can be asked about it: feeds and MCP servers. What they reach must be
 * allowed, and what has to be approved can never be had.
 */
export function checkUnasked(
  agent: ProjectDocument,
  tools: readonly ProjectDocument[],
  { network, paths }: Permissions,
): Diagnostic[] {
  const manifest = documentNode(agent.document.value);
  const name = quoted(agent.name ?? '?');
  const host = (place: DocumentNode, what: string): Finding | undefined => {
    const url = hostIn(place.text());
    const decision = url === undefined ? 'allow' : hostDecision(url, network);
    if (url === undefined || decision === 'allow') return undefined;
    return warning(
      `${what} is at ${quoted(url.host)}, which the agent ${name} ${decision === 'ask' ? 'needs approval for, but nobody can be asked at this point' : 'may not reach'}.`,
      `Allow it in "permissions: { network }" of ${agent.label}.`,
    );
  };
  const feeds = manifest
    .at('context_feeds')
    .items()
    .flatMap((feed): readonly Found[] => {
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
                : warning(
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
    .map(({ at }): Found => {
      const server = at('mcp');
      const url = server.at('url');
      return [url, host(url, `The MCP server ${quoted(server.at('name').text() ?? '?')}`)];
    });
  return [...feeds, ...servers].flatMap(([{ path }, finding]) =>
    finding === undefined ? [] : [agent.document.diagnose({ path, at: 'value' }, finding)],
  );
}

type Found = readonly [place: DocumentNode, finding: Finding | undefined];

const needsApproval = (name: string | undefined, tools: readonly ProjectDocument[]): boolean =>
  tools.some(
    (tool) =>
      tool.kind === 'Tool' &&
      tool.name === name &&
      ['always', 'strict'].includes(String(documentNode(tool.document.value).at('approval').value)),
  );

const approvalNeeded = (what: string, target: DocumentNode): Finding =>
  warning(
    `${what} calls the tool ${quoted(target.text() ?? '?')}, which needs approval by a person, but a feed cannot ask for it.`,
    'Call it in an action, or remove "approval: always" from the tool.',
  );

const warning = (message: string, hint: string): Finding => ({
  severity: 'warning',
  code: 'not_permitted',
  message,
  hint,
});
