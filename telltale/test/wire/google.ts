import { checkSchema, GOOGLE_JSON_SCHEMA, GOOGLE_OPENAPI_SCHEMA } from './check-schema.ts';
import { type Bag, isBag, Problems } from './problems.ts';

/** https://ai.google.dev/api/generate-content, https://ai.google.dev/gemini-api/docs/function-calling */
const FUNCTION_NAME = /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/;
const MAX_BODY = 20 * 1024 * 1024;
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/;
/** What Google's reference names for calls whose signature is not known. */
const NO_SIGNATURE = 'skip_thought_signature_validator';

export function checkGoogle(body: unknown): readonly string[] {
  const problems = new Problems();
  const request = problems.object(body, 'body');
  const names = checkTools(request.tools, problems);
  const system = request.systemInstruction;
  if (system !== undefined) {
    const parts = problems.list(
      problems.object(system, 'systemInstruction').parts,
      'systemInstruction.parts',
    );
    for (const [index, each] of parts.entries()) part(each, `systemInstruction.parts[${index}]`, problems);
  }
  const hasCalls = checkContents(problems.list(request.contents, 'contents'), problems);
  if (hasCalls && names.size === 0)
    problems.add('tools', 'contents hold function calls, but no function is declared');
  checkConfig(request, names, problems);
  problems.size(body, MAX_BODY);
  return problems.found;
}

function checkConfig(request: Bag, names: ReadonlySet<string>, problems: Problems): void {
  const { toolConfig, generationConfig } = request;
  const config = isBag(toolConfig) ? toolConfig.functionCallingConfig : undefined;
  if (isBag(config)) {
    if (!['AUTO', 'ANY', 'NONE', 'VALIDATED'].includes(String(config.mode)))
      problems.add('toolConfig', `unknown mode "${String(config.mode)}"`);
    const allowed = config.allowedFunctionNames;
    if (Array.isArray(allowed))
      for (const name of allowed)
        if (!names.has(String(name)))
          problems.add('toolConfig', `function "${String(name)}" is not declared`);
    if (names.size === 0)
      problems.add('toolConfig', 'function calling config is set without function declarations');
  }
  if (isBag(generationConfig)) {
    const most = generationConfig.maxOutputTokens;
    if (most !== undefined && (!Number.isInteger(most) || (most as number) < 1))
      problems.add('generationConfig.maxOutputTokens', 'must be a whole number above 0');
  }
}

function checkTools(tools: unknown, problems: Problems): ReadonlySet<string> {
  const names = new Set<string>();
  if (tools === undefined) return names;
  for (const [index, each] of problems.list(tools, 'tools').entries()) {
    const { functionDeclarations } = problems.object(each, `tools[${index}]`);
    const path = `tools[${index}].functionDeclarations`;
    const list = problems.list(functionDeclarations, path);
    if (list.length === 0) problems.add(path, 'must not be empty');
    for (const [at, declaration] of list.entries())
      checkDeclaration(problems.object(declaration, `${path}[${at}]`), `${path}[${at}]`, names, problems);
  }
  return names;
}

function checkDeclaration(fn: Bag, path: string, names: Set<string>, problems: Problems): void {
  const name = problems.text(fn.name, `${path}.name`);
  problems.matches(name, FUNCTION_NAME, `${path}.name`);
  problems.unique(name, names, `${path}.name`);
  problems.filled(fn.description, `${path}.description`);
  problems.known(fn, ['name', 'description', 'parameters', 'parametersJsonSchema', 'behavior'], path);
  if (fn.parameters !== undefined && fn.parametersJsonSchema !== undefined)
    problems.add(path, 'parameters and parametersJsonSchema exclude each other');
  if (fn.parameters !== undefined)
    checkSchema(fn.parameters, GOOGLE_OPENAPI_SCHEMA, `${path}.parameters`, problems);
  if (fn.parametersJsonSchema !== undefined)
    checkSchema(fn.parametersJsonSchema, GOOGLE_JSON_SCHEMA, `${path}.parametersJsonSchema`, problems);
}

/** Whether there are calls or results among the contents. */
function checkContents(contents: readonly unknown[], problems: Problems): boolean {
  if (contents.length === 0) problems.add('contents', 'contents are required');
  let hasCalls = false;
  let waiting: readonly Bag[] = [];
  let before = '';
  const ids = new Set<string>();
  for (const [index, each] of contents.entries()) {
    const path = `contents[${index}]`;
    const { role, parts } = problems.object(each, path);
    if (role !== 'user' && role !== 'model')
      problems.add(`${path}.role`, `"${String(role)}" is not a role; use user or model`);
    if (index === 0 && role !== 'user') problems.add(path, 'the first content must be the user’s');
    const list = problems.list(parts, `${path}.parts`);
    if (list.length === 0) problems.add(`${path}.parts`, 'must include at least one part');
    for (const [at, one] of list.entries()) part(one, `${path}.parts[${at}]`, problems);
    const calls = of(list, 'functionCall');
    const answers = of(list, 'functionResponse');
    hasCalls ||= calls.length + answers.length > 0;
    if (role === before && !(role === 'user' && answers.length === 0))
      problems.add(path, `two contents in a row have the role "${String(role)}"`);
    if (role === 'user' && calls.length > 0) problems.add(path, 'a user cannot call functions');
    if (role === 'model' && answers.length > 0) problems.add(path, 'function responses are the user’s');
    if (calls.length > 0 && before !== 'user')
      problems.add(
        path,
        'a function call turn must come right after a user turn or a function response turn',
      );
    checkAnswers(waiting, answers, path, problems);
    waiting = calls;
    for (const { id } of calls)
      if (typeof id === 'string') problems.unique(id, ids, `${path}.functionCall.id`);
    before = String(role);
  }
  checkAnswers(waiting, [], 'contents', problems);
  if (before === 'model') problems.add('contents', 'the last content must be the user’s');
  return hasCalls;
}

/** Each call of a turn has its response in the next one, by name and, where given, by id. */
function checkAnswers(
  calls: readonly Bag[],
  answers: readonly Bag[],
  path: string,
  problems: Problems,
): void {
  if (calls.length !== answers.length)
    problems.add(
      path,
      `the number of function response parts (${answers.length}) must equal the number of function call parts (${calls.length})`,
    );
  const left = [...calls];
  for (const answer of answers) {
    const at = left.findIndex(
      ({ name, id }) =>
        name === answer.name && (id === undefined || answer.id === undefined || id === answer.id),
    );
    if (at === -1) problems.add(path, `the function response "${String(answer.name)}" answers no call`);
    else left.splice(at, 1);
  }
}

const of = (parts: readonly unknown[], key: string): readonly Bag[] =>
  parts.flatMap((each) => (isBag(each) && isBag(each[key]) ? [each[key] as Bag] : []));

function part(value: unknown, path: string, problems: Problems): void {
  const given = problems.object(value, path);
  const data = ['text', 'functionCall', 'functionResponse', 'inlineData', 'fileData'].filter(
    (key) => given[key] !== undefined,
  );
  if (data.length !== 1) problems.add(path, "required oneof field 'data' must have one initialized field");
  if (data[0] === 'text' && given.thought !== true && given.thoughtSignature === undefined)
    problems.filled(given.text, `${path}.text`);
  const signature = given.thoughtSignature;
  if (
    signature !== undefined &&
    signature !== NO_SIGNATURE &&
    !(typeof signature === 'string' && BASE64.test(signature))
  )
    problems.add(`${path}.thoughtSignature`, 'is not base64');
  for (const key of ['functionCall', 'functionResponse']) {
    const inner = given[key];
    if (!isBag(inner)) continue;
    problems.matches(problems.text(inner.name, `${path}.${key}.name`), FUNCTION_NAME, `${path}.${key}.name`);
    problems.object(key === 'functionCall' ? (inner.args ?? {}) : inner.response, `${path}.${key}`);
  }
}
