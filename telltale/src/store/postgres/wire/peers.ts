/** What the other processes listen to, as they have told. It may be out of date for a moment: nothing depends on it. */
export interface Peers {
  /** Those that listen to a topic. */
  of(topic: string): Iterable<string>;
  isHeard(topic: string): boolean;
  /** Returns the topics that it did not listen to before. */
  add(peer: string, topics: readonly string[], now: number): readonly string[];
  remove(peer: string, topics: readonly string[]): void;
  forget(peer: string): void;
  /** A sign of life, with how many topics it listens to; false where another number, or nothing, is known. */
  agrees(peer: string, topics: number, now: number): boolean;
  /** Forgets those that were silent since then. */
  expire(before: number): void;
  clear(): void;
}

interface Peer {
  readonly topics: Set<string>;
  seenAt: number;
}

const NOBODY: ReadonlySet<string> = new Set();

export function createPeers(): Peers {
  const peers = new Map<string, Peer>();
  const byTopic = new Map<string, Set<string>>();

  const leave = (peer: string, topic: string) => {
    const others = byTopic.get(topic);
    others?.delete(peer);
    if (others?.size === 0) byTopic.delete(topic);
  };
  const forget = (peer: string) => {
    for (const topic of peers.get(peer)?.topics ?? []) leave(peer, topic);
    peers.delete(peer);
  };

  return {
    of: (topic) => byTopic.get(topic) ?? NOBODY,
    isHeard: (topic) => byTopic.has(topic),
    add(peer, topics, now) {
      const known = peers.get(peer) ?? { topics: new Set<string>(), seenAt: now };
      known.seenAt = now;
      peers.set(peer, known);
      const added = topics.filter((topic) => !known.topics.has(topic));
      for (const topic of added) {
        known.topics.add(topic);
        const others = byTopic.get(topic);
        if (others === undefined) byTopic.set(topic, new Set([peer]));
        else others.add(peer);
      }
      return added;
    },
    remove(peer, topics) {
      for (const topic of topics) if (peers.get(peer)?.topics.delete(topic) === true) leave(peer, topic);
    },
    forget,
    agrees(peer, topics, now) {
      const known = peers.get(peer);
      if (known === undefined) return false;
      known.seenAt = now;
      return known.topics.size === topics;
    },
    expire(before) {
      for (const [peer, { seenAt }] of peers) if (seenAt < before) forget(peer);
    },
    clear() {
      peers.clear();
      byTopic.clear();
    },
  };
}
