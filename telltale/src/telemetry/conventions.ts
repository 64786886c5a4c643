/**
 * Names of OpenTelemetry's semantic conventions, as `@opentelemetry/semantic-conventions/incubating` 1.45 has them: that
 * module takes longer to load than all that makes spans of events. A test holds the two together.
 */
export const ATTR = {
  agentId: 'gen_ai.agent.id',
  agentName: 'gen_ai.agent.name',
  agentVersion: 'gen_ai.agent.version',
  conversationId: 'gen_ai.conversation.id',
  errorType: 'error.type',
  finishReasons: 'gen_ai.response.finish_reasons',
  inputMessages: 'gen_ai.input.messages',
  operation: 'gen_ai.operation.name',
  outputMessages: 'gen_ai.output.messages',
  provider: 'gen_ai.provider.name',
  requestModel: 'gen_ai.request.model',
  timeToFirstChunk: 'gen_ai.response.time_to_first_chunk',
  tokenType: 'gen_ai.token.type',
  toolArguments: 'gen_ai.tool.call.arguments',
  toolCallId: 'gen_ai.tool.call.id',
  toolName: 'gen_ai.tool.name',
  toolResult: 'gen_ai.tool.call.result',
  toolType: 'gen_ai.tool.type',
  usageCached: 'gen_ai.usage.cache_read.input_tokens',
  usageInput: 'gen_ai.usage.input_tokens',
  usageOutput: 'gen_ai.usage.output_tokens',
  workflowName: 'gen_ai.workflow.name',
} as const;

export const OPERATION = {
  agent: 'invoke_agent',
  chat: 'chat',
  tool: 'execute_tool',
  workflow: 'invoke_workflow',
} as const;

export const METRIC = {
  operationDuration: 'gen_ai.client.operation.duration',
  timeToFirstChunk: 'gen_ai.client.operation.time_to_first_chunk',
  tokenUsage: 'gen_ai.client.token.usage',
} as const;

/** A model as the conventions name it. */
export interface ModelName {
  readonly provider: string;
  readonly model: string;
}

/** Providers whose name in the conventions is another than in manifests. */
const PROVIDERS: ReadonlyMap<string, string> = new Map([
  ['google', 'gcp.gemini'],
  ['google-vertex', 'gcp.vertex_ai'],
  ['amazon-bedrock', 'aws.bedrock'],
  ['azure', 'azure.ai.openai'],
  ['mistral', 'mistral_ai'],
  ['xai', 'x_ai'],
]);

const SCRIPTED = 'scripted:';

/** Of `provider/model` or `scripted:FILE`: of a file only its name, since paths tell of the machine. */
export function modelName(ref: string): ModelName {
  if (ref.startsWith(SCRIPTED))
    return { provider: 'scripted', model: ref.slice(Math.max(ref.lastIndexOf('/') + 1, SCRIPTED.length)) };
  const slash = ref.indexOf('/');
  if (slash <= 0) return { provider: '', model: ref };
  const provider = ref.slice(0, slash);
  return { provider: PROVIDERS.get(provider) ?? provider, model: ref.slice(slash + 1) };
}
