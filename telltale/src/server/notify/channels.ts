import type { NotificationInfo } from '../../client/api.ts';
import { suggest } from '../../kernel/nearest.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { AgentManifest } from '../../manifest/schema/kinds.ts';
import type { LoadedAgent } from '../../session/loaded-agent.ts';
import type { AgentCatalog } from '../catalog/agent-catalog.ts';
import type { Notice } from './notice.ts';

type Manifest = NonNullable<AgentManifest['notifications']>;
export type ChannelManifest = Manifest['channels'][string];

export interface Channel {
  readonly name: string;
  readonly kind: NotificationInfo['kind'];
  readonly manifest: ChannelManifest;
  readonly agent: LoadedAgent<unknown>;
}

/** The channels of the agents of a catalog, as it is now. */
export interface Channels {
  /** Whether any agent has some. */
  any(): boolean;
  find(agent: string, channel: string): Channel | undefined;
  /** Who is to be told of it. */
  of(agent: string, notice: Notice): readonly Channel[];
}

export function createChannels(
  catalog: Pick<AgentCatalog, 'list'>,
  onError: (thrown: unknown) => void,
): Channels {
  const agentOf = (name: string) => catalog.list().find((entry) => entry.name === name)?.agent;
  const all = (name: string): readonly Channel[] => {
    const agent = agentOf(name);
    const channels = agent?.manifest.notifications?.channels ?? {};
    if (agent === undefined) return [];
    return Object.entries(channels).map(([channel, manifest]) => ({
      name: channel,
      manifest,
      agent,
      kind: 'webhook' in manifest ? 'webhook' : 'desktop' in manifest ? 'desktop' : 'command',
    }));
  };
  return {
    any: () => catalog.list().some(({ agent }) => agent?.manifest.notifications !== undefined),
    find: (agent, channel) => all(agent).find(({ name }) => name === channel),
    of(agent, { about, to }) {
      const channels = all(agent);
      if (channels.length === 0) return [];
      if (about.includes('notify')) {
        const named = to === undefined ? channels : channels.filter(({ name }) => name === to);
        if (named.length > 0) return named;
        // Rather to all than to nobody: somebody meant it to be heard.
        onError(channelUnknown(agent, to ?? '', channels));
        return channels;
      }
      const rules = agentOf(agent)?.manifest.notifications?.rules ?? [];
      const told = rules.filter(({ on }) => on.some((event) => about.includes(event)));
      return channels.filter(({ name }) => told.some((rule) => rule.to?.includes(name) ?? true));
    },
  };
}

const channelUnknown = (agent: string, to: string, channels: readonly Channel[]) =>
  new RuntimeError(
    'channel_unknown',
    `A step of ${agent} tells "${to}", which is none of its channels: all of them are told.`,
    {
      hint: suggest(
        to,
        channels.map(({ name }) => name),
        'Channels',
      ),
    },
  );
