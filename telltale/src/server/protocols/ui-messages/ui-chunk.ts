import type { Json, JsonObject } from '../../../kernel/json.ts';

/** What stands beside a part for whoever wants to know more. */
export type UiPartMetadata = { readonly telltale: { readonly final?: boolean; readonly agent?: string } };

/** The chunks of the AI SDK's UI message stream, version 1, that agents are told with. */
export type UiChunk =
  | { readonly type: 'start'; readonly messageId: string; readonly messageMetadata: JsonObject }
  | { readonly type: 'start-step' | 'finish-step' }
  | {
      readonly type: 'text-start' | 'reasoning-start';
      readonly id: string;
      readonly providerMetadata?: UiPartMetadata;
    }
  | { readonly type: 'text-delta' | 'reasoning-delta'; readonly id: string; readonly delta: string }
  | {
      readonly type: 'text-end' | 'reasoning-end';
      readonly id: string;
      readonly providerMetadata?: UiPartMetadata;
    }
  | {
      readonly type: 'tool-input-start';
      readonly toolCallId: string;
      readonly toolName: string;
      readonly dynamic: true;
      readonly providerExecuted: true;
    }
  | {
      readonly type: 'tool-input-available';
      readonly toolCallId: string;
      readonly toolName: string;
      readonly input: Json;
      readonly dynamic: true;
      readonly providerExecuted: true;
    }
  | {
      readonly type: 'tool-output-available';
      readonly toolCallId: string;
      readonly output: Json;
      readonly dynamic: true;
      readonly providerExecuted: true;
    }
  | {
      readonly type: 'tool-output-error';
      readonly toolCallId: string;
      readonly errorText: string;
      readonly dynamic: true;
      readonly providerExecuted: true;
    }
  | { readonly type: 'tool-output-denied'; readonly toolCallId: string }
  | {
      readonly type: 'tool-approval-request';
      readonly approvalId: string;
      readonly toolCallId: string;
      readonly reason: string;
    }
  | {
      readonly type: 'tool-approval-response';
      readonly approvalId: string;
      readonly approved: boolean;
      readonly reason?: string;
    }
  | { readonly type: 'data-metadata'; readonly id: string; readonly data: JsonObject }
  | { readonly type: 'data-event'; readonly data: JsonObject; readonly transient: true }
  | { readonly type: 'error'; readonly errorText: string }
  | { readonly type: 'abort'; readonly reason: string }
  | {
      readonly type: 'finish';
      readonly finishReason: 'stop' | 'tool-calls';
      readonly messageMetadata: JsonObject;
    };
