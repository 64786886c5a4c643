import type { CallOptions, FunctionTool, ProviderOptions } from './language-model.ts';

/** A tool that must be called is called once: Anthropic's models are known to call it twice. */
const ONE_CALL: ProviderOptions = { anthropic: { disableParallelToolUse: true } };

/**
 * A call of a provider that offers tools, in the form that all versions of the interface take. Where calls are
 * complete `late`, the raw stream is asked for as well: `readStream` looks there for what must not be lost.
 */
export function withTools(
  options: CallOptions,
  tools: readonly FunctionTool[],
  toolChoice: string | undefined,
  isLate: boolean,
): CallOptions {
  return {
    ...options,
    tools,
    toolChoice: toolChoice === undefined ? { type: 'auto' } : { type: 'tool', toolName: toolChoice },
    ...(isLate ? { includeRawChunks: true } : {}),
    ...(toolChoice === undefined ? {} : { providerOptions: merged(options.providerOptions, ONE_CALL) }),
  };
}

const merged = (given: ProviderOptions = {}, added: ProviderOptions): ProviderOptions => ({
  ...given,
  ...Object.fromEntries(Object.entries(added).map(([name, each]) => [name, { ...given[name], ...each }])),
});
