import { relative } from 'node:path';
import { sourceText } from '../../feeds/list-feeds.ts';
import { KIND_OF_LIST } from '../../manifest/project/project.ts';
import type { AgentManifest, Manifest } from '../../manifest/schema/kinds.ts';
import { countText, spanText } from '../view/figures.ts';
import type { Thing } from './known-things.ts';
import { parametersIn, type ShownParameter } from './operations.ts';

type Beside = NonNullable<Thing['beside']>;

/** A label and what there is to say under it, a line each. */
export type Fact = readonly [label: string, lines: readonly string[]];

/** What is known of a thing, for people. Empty facts are left out. */
export function factsOf(thing: Thing, cwd: string): readonly Fact[] {
  const facts: Fact[] = [
    ['', thing.description === undefined ? [] : thing.description.trim().split('\n')],
    ['file', thing.file === undefined ? ['built in'] : [`${near(thing.file, cwd)}:${thing.line ?? 1}`]],
    ...(thing.manifest === undefined ? [] : ownFacts(thing.manifest, thing.beside ?? [])),
    ...parameterFacts(thing),
    ['used by', thing.usedBy.length === 0 ? [] : [thing.usedBy.join(', ')]],
    ['problem', thing.problem === undefined ? [] : [thing.problem]],
  ];
  return facts.filter(([, lines]) => lines.length > 0);
}

/** A path as one would type it here. */
export const near = (file: string, cwd: string): string => {
  const path = relative(cwd, file);
  return path === '' || path.startsWith('..') ? file : path;
};

function parameterFacts({ parameters, operations, kind }: Thing): readonly Fact[] {
  if (parameters === undefined) return [];
  if (operations === undefined) {
    const lines = parametersIn(parameters).map(parameterLine);
    return [['parameters', lines.length === 0 && kind === 'Tool' ? ['none'] : lines]];
  }
  const lines = operations.flatMap(({ name, description, isDefault, parameters: own }) => [
    `${name}${isDefault ? ' (default)' : ''}: ${description}`,
    ...own.map((parameter) => `  ${parameterLine(parameter)}`),
  ]);
  return [['operations', lines]];
}

const parameterLine = ({ name, type, required, description }: ShownParameter): string =>
  `${name}${required ? '' : '?'}: ${type}${description === '' ? '' : ` – ${description}`}`;

function ownFacts(manifest: Manifest, beside: Beside): readonly Fact[] {
  switch (manifest.kind) {
    case 'Agent':
      return agentFacts(manifest, beside);
    case 'Tool':
      return [
        ['runs', [implementationText(manifest.implementation)]],
        ['needs', needsOf(manifest.implementation)],
        ['approval', manifest.approval === 'always' ? ['a person approves each call'] : []],
        ['start', manifest.start === 'on_turn_end' ? ['when the response has ended well'] : []],
        [
          'again',
          [manifest.idempotent ? 'may be run again after a crash' : 'is never run again after a crash'],
        ],
        ['time-out', manifest.timeout === undefined ? [] : [`${manifest.timeout.ms / 1000} s`]],
      ];
    case 'Relic':
      return [
        ['driver', [manifest.driver]],
        ['approval', manifest.approval === 'always' ? ['a person approves each call'] : []],
      ];
    case 'Artifact':
      return [
        [
          'source',
          [
            manifest.module ??
              `in the manifest, ${countText((manifest.source ?? '').split('\n').length, 'line')}`,
          ],
        ],
        ['methods', namedLines(manifest.methods ?? {})],
      ];
    case 'Workflow':
      return workflowFacts(manifest);
  }
}

function agentFacts(agent: AgentManifest, beside: Beside): readonly Fact[] {
  const { limits, metadata, permissions } = agent;
  const { import: imports } = agent;
  const fields = Object.entries(metadata.fields).map(([name, field]) => {
    const values = 'values' in field ? ` ${field.values.join(' | ')}` : '';
    const start = field.default === undefined ? '' : `, begins as ${JSON.stringify(field.default)}`;
    return `${name}: ${field.type}${values}${start}${field.description === undefined ? '' : ` – ${field.description}`}`;
  });
  const imported = (['tools', 'relics', 'agents', 'workflows', 'artifacts'] as const).map(
    (list): Fact => [
      list,
      [
        ...imports[list].map((entry) => (typeof entry === 'string' ? entry : JSON.stringify(entry))),
        ...beside.filter(({ kind }) => kind === KIND_OF_LIST[list]).map(({ name }) => `${name}, in its file`),
      ],
    ],
  );
  return [
    ['model', [agent.model ?? 'none: its caller’s, or --model']],
    ['models', Object.entries(agent.models).map(([name, ref]) => `${name}: ${ref}`)],
    ['dialect', [agent.dialect]],
    ['workflow', agent.workflow === null ? [] : [agent.workflow]],
    ...imported,
    ['prompts', Object.keys(agent.prompts)],
    ['limits', [limitText(limits)]],
    ['metadata', fields],
    ['feeds', agent.context_feeds.map(feedText)],
    ['memory', memoryText(agent.memory)],
    [
      'permissions',
      [
        `paths ${rulesText(permissions.paths)}`,
        `network ${rulesText(permissions.network)}`,
        `shell ${rulesText(permissions.shell)}`,
        ...(permissions.artifacts.length === 0 ? [] : [`artifacts ${permissions.artifacts.join(', ')}`]),
        ...(permissions.sandbox === 'auto' ? [] : [`sandbox ${permissions.sandbox}`]),
        ...(permissions.environment.length === 0
          ? []
          : [`environment ${permissions.environment.join(', ')}`]),
      ],
    ],
    ['output', agent.output?.schema === undefined ? [] : ['JSON of a schema']],
  ];
}

function feedText(feed: AgentManifest['context_feeds'][number]): string {
  const notes = [
    ...('source' in feed
      ? [
          feed.interval === undefined ? feed.type : `every ${spanText(feed.interval.ms)}`,
          ...(feed.inject === 'on_change' ? [] : [feed.inject]),
        ]
      : []),
    ...(feed.max_tokens === undefined ? [] : [`at most ${countText(feed.max_tokens, 'token')}`]),
    ...(feed.enabled === 'true'
      ? []
      : [feed.enabled === 'false' ? 'disabled' : `enabled if ${feed.enabled}`]),
  ];
  const source = 'source' in feed ? `: ${sourceText(feed.source)}` : '';
  return `${feed.id}${source}${notes.length === 0 ? '' : ` (${notes.join(', ')})`}`;
}

function memoryText(memory: AgentManifest['memory']): readonly string[] {
  if (memory?.graph === undefined) return [];
  const { graph, inject = 0 } = memory;
  return [`the graph of ${graph}${inject === 0 ? '' : `, ${countText(inject, 'token')} of it at the start`}`];
}

/** `., ask ../shared`: what is allowed, then what is not without more ado. */
function rulesText({ allow, ask, deny }: AgentManifest['permissions']['paths']): string {
  const parts = [
    allow.join(', '),
    ...(ask.length === 0 ? [] : [`ask ${ask.join(', ')}`]),
    ...(deny.length === 0 ? [] : [`deny ${deny.join(', ')}`]),
  ];
  return parts.filter((part) => part !== '').join('; ') || 'none';
}

function limitText(limits: AgentManifest['limits']): string {
  const parts = [`${countText(limits.turns, 'turn')}`];
  if (limits.tokens !== undefined) parts.push(countText(limits.tokens, 'token'));
  if (limits.cost_usd !== undefined) parts.push(`$${limits.cost_usd}`);
  if (limits.wall !== undefined) parts.push(`${limits.wall.ms / 1000} s of wall time`);
  parts.push(`${limits.parallel_actions} actions at once`, `${limits.action_timeout.ms / 1000} s an action`);
  return parts.join(', ');
}

function workflowFacts(workflow: Extract<Manifest, { kind: 'Workflow' }>): readonly Fact[] {
  const { states, steps, triggers } = workflow as {
    readonly states?: Readonly<Record<string, unknown>> | readonly { readonly name?: string }[];
    readonly steps?: readonly { readonly name: string; readonly type: string }[];
    readonly triggers?: readonly unknown[];
  };
  const named = Array.isArray(states) ? states.map(({ name }) => String(name)) : Object.keys(states ?? {});
  return [
    [
      'triggers',
      triggers === undefined || triggers.length === 0 ? [] : [countText(triggers.length, 'trigger')],
    ],
    ['states', named.length === 0 ? [] : [named.join(', ')]],
    ['steps', (steps ?? []).map(({ name, type }) => `${name}: ${type}`)],
  ];
}

type Implementation = Extract<Manifest, { kind: 'Tool' }>['implementation'];

function implementationText(implementation: Implementation): string {
  if ('module' in implementation) return `${implementation.export} of the module ${implementation.module}`;
  if ('command' in implementation) return `the command ${implementation.command.join(' ')}`;
  if ('http' in implementation) return `${implementation.http.method} ${implementation.http.url}`;
  if ('mcp' in implementation)
    return `${implementation.mcp.tool} of the MCP server ${implementation.mcp.server}`;
  return `a script of ${countText(implementation.script.split('\n').length, 'line')}`;
}

function needsOf(implementation: Implementation): readonly string[] {
  if ('command' in implementation)
    return ['permissions: { shell: allow }, or a person’s word where it says ask'];
  if ('http' in implementation) return [`permissions: { network: [${hostOf(implementation.http.url)}] }`];
  return [];
}

const hostOf = (url: string): string => /^https?:\/\/([^/?#{]+)/.exec(url)?.[1] ?? 'HOST';

const namedLines = (named: Readonly<Record<string, { readonly description?: string | undefined }>>) =>
  Object.entries(named).map(([name, { description }]) =>
    description === undefined ? name : `${name}: ${description}`,
  );
