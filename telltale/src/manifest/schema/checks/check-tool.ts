import { Script } from 'node:vm';
import { parseTemplate } from '../../../expressions/templates/parse-template.ts';
import { nearest, suggest } from '../../../lib/nearest.ts';
import type { Issue } from '../../diagnostic.ts';
import { readHostEntry } from '../../permission-rules.ts';
import { showValue } from '../show-value.ts';
import { type DocumentNode, errorAt, textsUnder, warningAt } from './document-node.ts';

/** A Tool's parameters must be an object, and its templates must name parameters. */
export function checkTool(tool: DocumentNode): readonly Issue[] {
  const implementation = tool.at('implementation');
  const http = implementation.at('http');
  const ofCommand = ['command', 'cwd', 'env', 'stdin'].map((key) => implementation.at(key));
  const ofRequest = ['url', 'headers', 'body'].map((key) => http.at(key));
  const templates = [...ofCommand, ...ofRequest];
  return [
    ...checkObjectSchema(tool.at('parameters')),
    ...checkScript(implementation.at('script')),
    ...checkRequestAddress(implementation.at('http').at('url')),
    ...templates.flatMap((template) => [
      ...checkPlaceholders(template, tool),
      ...checkAgentReferences(template),
    ]),
  ];
}

/** Parameters and input are maps, so a schema of anything else could never hold. */
export function checkObjectSchema(schema: DocumentNode): readonly Issue[] {
  const type = schema.at('type');
  const types = Array.isArray(type.value) ? type.value : [type.value];
  if (type.value === undefined || types.includes('object')) return [];
  const label = `"${String(schema.path.at(-1))}"`;
  return [
    errorAt(
      type,
      'bad_schema',
      `${label} has to describe an object, so its type cannot be ${showValue(type.value)}.`,
      {
        hint: 'Write "type: object".',
      },
    ),
  ];
}

function checkPlaceholders(template: DocumentNode, tool: DocumentNode): readonly Issue[] {
  const parameters = tool
    .at('parameters')
    .at('properties')
    .entries()
    .map(([name]) => name);
  return [...textsUnder(template)].flatMap(([text, place]) =>
    [...text.matchAll(/(?<!\$)\{([A-Za-z_][A-Za-z0-9_-]*)\}/g)].flatMap((match) => {
      const [whole, name = ''] = match;
      if (parameters.includes(name)) return [];
      const near = nearest(name, parameters);
      const message = `${whole} is not a parameter of this tool.`;
      if (near !== undefined)
        return [
          errorAt(place, 'unknown_parameter', message, {
            hint: `Did you mean "{${near}}"?`,
            offset: match.index,
          }),
        ];
      const hint = `Parameters: ${parameters.length === 0 ? 'none' : parameters.join(', ')}. It is passed on as it is written.`;
      return [warningAt(place, 'unknown_parameter', message, { hint, offset: match.index })];
    }),
  );
}

/** A tool sees the agent's snapshot, and nothing of a run. */
function checkAgentReferences(template: DocumentNode): readonly Issue[] {
  return [...textsUnder(template)].flatMap(([text, place]) => {
    const parsed = parseTemplate(text);
    if (!parsed.ok)
      return parsed.error.map(({ message, hint, offset }) =>
        errorAt(place, 'bad_reference', message, { hint, offset }),
      );
    return parsed.value.pieces.flatMap((piece) => {
      if (piece.kind !== 'reference') return [];
      const [member] = piece.path;
      if (piece.root !== 'agent')
        return [
          errorAt(place, 'unknown_name', `A tool cannot refer to "${piece.root}".`, {
            hint: `A tool can use its parameters as {name}, and \${agent.…}.`,
            offset: piece.offset,
          }),
        ];
      if (typeof member !== 'string' || AGENT_MEMBERS.includes(member)) return [];
      return [
        errorAt(place, 'unknown_name', `"agent" has no "${member}".`, {
          hint: () => suggest(member, AGENT_MEMBERS, 'It has'),
          offset: piece.offset,
        }),
      ];
    });
  });
}

/** Inserted when a call is made: parameters and references. */
const LEFT_OPEN = /\{|\$/;

/** Checks the address of a request, as far as it is known before the request. */
export function checkRequestAddress(address: DocumentNode): readonly Issue[] {
  const text = address.text();
  if (
    text === undefined ||
    text === '' ||
    /^https?:\/\/./i.test(text) ||
    LEFT_OPEN.test(text.slice(0, 'https://'.length))
  )
    return [];
  return [
    errorAt(address, 'bad_address', `${showValue(text)} is not an http:// or https:// address.`, {
      hint: /^[\w.-]+(?::\d+)?(?:[/?#]|$)/.test(text)
        ? `Did you mean "https://${text}"?`
        : 'Write it like https://example.com/path.',
    }),
  ];
}

/**
 * The hosts in `permissions.network`, in any form. An entry that no host can match would allow or deny nothing, and a
 * host with a path or a mask would count as the host alone. Neither is what its author relies on.
 */
export function checkNetwork(network: DocumentNode): readonly Issue[] {
  const lists = ['allow', 'ask', 'deny'].map((key) => network.at(key));
  return [network, ...lists].flatMap((list) => list.items().flatMap(checkHost));
}

const MAX_PORT = 65_535;
const RANGE = /^\[?[\d.:a-f]+\]?\/\d+$/i;

function checkHost(entry: DocumentNode): readonly Issue[] {
  const text = entry.text();
  if (text === undefined || text === '' || LEFT_OPEN.test(text)) return [];
  const shown = showValue(text);
  if (RANGE.test(text))
    return [
      errorAt(
        entry,
        'bad_address',
        `${shown} is a range of addresses, but an entry of "network" has to be a host.`,
        {
          hint: 'Write each address as its own entry, or the domain: *.example.com.',
        },
      ),
    ];
  const { host, port } = readHostEntry(text);
  if (!isHost(host) || Number(port ?? 0) > MAX_PORT)
    return [
      errorAt(entry, 'bad_address', `${shown} is not a host, so it would never match.`, {
        hint: 'Write it like api.example.com, localhost:8080, *.example.com, [::1] or *.',
      }),
    ];
  // A whole address counts as its host, because it was pasted. A path after a bare host is meant as a path.
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text) || !/[/?#]./.test(text)) return [];
  return [
    warningAt(entry, 'no_effect', `Only the host of ${shown} counts. The path is ignored.`, {
      hint: `Write "${text.replace(/[/?#].*$/s, '')}".`,
    }),
  ];
}

/** A host with colons is an IPv6 address. A wildcard may only be the first label, or the whole host. */
function isHost(host: string): boolean {
  if (host === '*') return true;
  if (host.includes(':')) return URL.canParse(`http://[${host}]`);
  const name = host.replace(/^\*\./, '');
  return !/[\s@*\\%]/.test(name) && URL.canParse(`http://${name}`);
}

const FILE = 'script';
const STRICT = "'use strict';";
const OPENING = `${STRICT}(function () {`;

/** A script must be JavaScript: a strict program, or a function body if it returns. It is parsed, never run. */
export function checkScript(script: DocumentNode): readonly Issue[] {
  const source = script.value;
  if (typeof source !== 'string') return [];
  const asProgram = syntaxError(STRICT, source, '');
  const error =
    asProgram?.message === 'Illegal return statement' ? syntaxError(OPENING, source, '\n})') : asProgram;
  if (error === undefined) return [];
  const hint = /\bawait\b/.test(source)
    ? 'Scripts are synchronous, so they cannot use await.'
    : 'Its result is what it returns, or its last value.';
  return [
    errorAt(script, 'bad_script', `This is not JavaScript: ${error.message}.`, {
      hint,
      offset: error.offset,
    }),
  ];
}

/** `export` before a declaration. Without it, a module can be parsed as a program. */
const EXPORT = /^([ \t]*)export(?=\s+(?:async|function|const|let|var|class)\b)/gm;

/** The same for a module of functions. The sandbox checks what only a module may contain. */
export function checkModule(module: DocumentNode): readonly Issue[] {
  const source = module.text()?.replaceAll(EXPORT, (found) => ' '.repeat(found.length)) ?? '';
  if (/\b(?:import|export|await)\b/.test(source)) return [];
  const error = syntaxError(STRICT, source, '');
  if (error === undefined) return [];
  return [
    errorAt(module, 'bad_script', `This is not JavaScript: ${error.message}.`, {
      hint: 'The source has to be an ES module, with one function per method.',
      offset: error.offset,
    }),
  ];
}

function syntaxError(
  before: string,
  source: string,
  behind: string,
): { readonly message: string; readonly offset: number } | undefined {
  try {
    new Script(before + source + behind, { filename: FILE, columnOffset: -before.length });
    return undefined;
  } catch (thrown) {
    if (thrown instanceof RangeError) return { message: 'it is nested too deep', offset: 0 }; // The parser's own stack overflowed.
    if (!(thrown instanceof SyntaxError)) throw thrown;
    return { message: thrown.message, offset: offsetIn(source, thrown.stack ?? '') };
  }
}

/** Node shows a syntax error as `FILE:LINE`, the line, and a caret below it. The line includes everything before it. */
function offsetIn(source: string, stack: string): number {
  const [first = '', shown = '', caret = ''] = stack.split('\n');
  const line = Number(/:(\d+)$/.exec(first)?.[1] ?? 1);
  const lines = source.split('\n');
  const own = lines[line - 1] ?? '';
  const column = caret.indexOf('^') - (shown.length - own.length);
  const start = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0);
  return Math.max(0, Math.min(source.length - 1, start + Math.max(0, column)));
}

/** The parts of its agent that a step can see. */
export const AGENT_MEMBERS = [
  'session_id',
  'agent_name',
  'iteration_count',
  'started_at',
  'metadata',
  'tools',
  'workflows',
  'agents',
  'relics',
  'parent',
  'actions_executed',
  'thoughts',
  'responses',
  'environment',
  'workspace_path',
  'manifest',
  'variables',
];
