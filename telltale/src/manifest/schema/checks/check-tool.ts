import { parseTemplate } from '../../../conditions/templates/parse-template.ts';
import { nearest, suggest } from '../../../kernel/nearest.ts';
import type { Issue } from '../../issue.ts';
import { showValue } from '../show-value.ts';
import { AGENT_MEMBERS } from './agent-members.ts';
import { checkRequestAddress } from './check-addresses.ts';
import { checkScript } from './check-script.ts';
import { type DocumentNode, errorAt, textsUnder, warningAt } from './document-node.ts';

/** A Tool's parameters must be an object, and its templates must name parameters. */
export function checkTool(tool: DocumentNode): readonly Issue[] {
  const implementation = tool.at('implementation');
  const templates = [
    ...['command', 'cwd', 'env', 'stdin'].map((key) => implementation.at(key)),
    ...['url', 'headers', 'body'].map((key) => implementation.at('http').at(key)),
  ];
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
