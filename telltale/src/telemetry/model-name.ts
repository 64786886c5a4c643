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
