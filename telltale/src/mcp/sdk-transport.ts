import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { soundMessage } from './read-answer.ts';
import type { ServerChannel } from './server-channel.ts';

type SdkMessage = Parameters<NonNullable<Transport['onmessage']>>[0];

/** What the SDK speaks through. */
export function sdkTransport(server: ServerChannel, onEnd: (how: string | undefined) => void): Transport {
  const transport: Transport = {
    async start() {
      server.listen({
        message(message) {
          const hand = () => transport.onmessage?.(soundMessage(message) as SdkMessage);
          // The SDK looks at a notification a moment after it came: an answer must not overtake the last of the progress.
          if ('method' in message) hand();
          else queueMicrotask(hand);
        },
        ended(how) {
          onEnd(how);
          transport.onclose?.();
        },
      });
    },
    send: (message) => server.send(message),
    setProtocolVersion: (version) => server.useVersion(version),
    close: () => server.end(),
  };
  return transport;
}
