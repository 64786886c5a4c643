// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of manifests, not of JavaScript
import { describe, expect, it } from 'vitest';
import { said, tool } from './said.ts';

const parameters = { type: 'object', properties: { count: {}, n: {} } };
const of = (implementation: object) => said(tool({ implementation, parameters }));
const http = (keys: object) => ({ http: { method: 'POST', url: 'http://x', ...keys } });

const PLACES: readonly (readonly [place: string, implementation: (text: string) => object])[] = [
  ['command.1', (text) => ({ command: ['git', text] })],
  ['cwd', (text) => ({ command: ['git'], cwd: text })],
  ['env.A', (text) => ({ command: ['git'], env: { A: text } })],
  ['stdin', (text) => ({ command: ['git'], stdin: text })],
  ['http.url', (text) => http({ url: `http://x/${text}` })],
  ['http.headers.a', (text) => http({ headers: { a: text } })],
  ['http.body', (text) => http({ body: text })],
  ['http.body.a.0', (text) => http({ body: { a: [text] } })],
];

describe.each(PLACES)('a template of a tool, in %s,', (place, implementation) => {
  it('names parameters that the tool has', () => {
    expect(of(implementation('{count} {n} and {not a name}'))).toEqual([]);
    expect(of(implementation('{cuont}'))).toEqual([
      `unknown_parameter implementation.${place}: {cuont} is not a parameter of this tool. | Did you mean "{count}"?`,
    ]);
    expect(of(implementation('{x}'))).toEqual([
      `warning unknown_parameter implementation.${place}: {x} is not a parameter of this tool. | Parameters: count, n. It is passed on as it is written.`,
    ]);
  });

  it('refers to the agent, and to nothing of a run', () => {
    expect(of(implementation('${agent.session_id} ${agent.metadata.x} $${vars.x}'))).toEqual([]);
    expect(of(implementation('${vars.x}'))).toEqual([
      `unknown_name implementation.${place}: A tool cannot refer to "vars". | A tool can use its parameters as {name}, and \${agent.…}.`,
    ]);
    expect(of(implementation('${agent.sesion_id}'))).toEqual([
      `unknown_name implementation.${place}: "agent" has no "sesion_id". | Did you mean "session_id"?`,
    ]);
    expect(of(implementation('${agent..x}'))).toEqual([
      `bad_reference implementation.${place}: The path "agent..x" lacks a name. | Write it like a.b[0].c; a key with other characters goes in brackets and quotes: a["b.c"].`,
    ]);
  });
});

describe('the parameters of a tool', () => {
  it('are a map', () => {
    for (const type of ['object', ['object', 'null']])
      expect(said(tool({ parameters: { type } }))).toEqual([]);
    expect(said(tool({ parameters: { type: 'array' } }))).toEqual([
      'bad_schema parameters.type: "parameters" has to describe an object, so its type cannot be "array". | Write "type: object".',
    ]);
    expect(said(tool({ parameters: { type: ['string', 'null'] } }))).toHaveLength(1);
  });

  it('may be none, which is said where a template names one', () => {
    expect(said(tool({ implementation: { command: ['git', '{a}'] } }))[0]).toContain('Parameters: none.');
  });
});
