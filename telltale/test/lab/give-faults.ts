import { bringUp } from './bring-up.ts';
import { type LabHome, sleepMs } from './lab-home.ts';
import type { Member } from './member.ts';
import type { Fault, FaultKind } from './plan-faults.ts';

/** Has faults come over a fleet, and lifts them at their time. */
export interface FaultGiver {
  /** Begins a fault, which is lifted by itself; false where it has to wait for one that is under way. */
  give(fault: Fault): boolean;
  /** Resolves once all are lifted and every member is up. Rejects where one does not come up. */
  lifted(): Promise<void>;
  readonly given: Readonly<Partial<Record<FaultKind, number>>>;
  /** What went wrong by itself: a member that did not end when told to, or did not start. */
  readonly oddities: readonly string[];
}

/** The clock is set by that much at the most, and by a minute at the least. */
export const MOST_MINUTES = 8;

const OF_MEMBERS: ReadonlySet<FaultKind> = new Set(['kill', 'term', 'stop', 'clock']);
const OF_ALL: ReadonlySet<FaultKind> = new Set(['disk-full', 'lock', 'database-fast', 'database-immediate']);

export function createFaultGiver(
  members: readonly Member[],
  home: LabHome,
  onGiven: (fault: Fault) => void,
): FaultGiver {
  const given: Partial<Record<FaultKind, number>> = {};
  const oddities: string[] = [];
  const underWay = new Set<Promise<void>>();
  /** Members and parts of the home that something is done with which must not be mixed with more of it. */
  const inHand = new Set<Member | string>();

  const act = async ({ kind, ms, detail }: Fault, member: Member): Promise<void> => {
    switch (kind) {
      case 'kill':
        await member.kill();
        await sleepMs(ms);
        return bringUp(member);
      case 'term':
        await member.end().then((wrong) => {
          if (wrong !== undefined) oddities.push(`${member.name}, told to end, ${wrong}`);
        });
        await sleepMs(ms);
        return bringUp(member);
      case 'stop':
        member.stop();
        await sleepMs(ms);
        return member.goOn();
      case 'clock': {
        const minutes = 1 + detail * 2 * (MOST_MINUTES - 1);
        member.setClock((minutes < MOST_MINUTES ? minutes : MOST_MINUTES - 1 - minutes) * 60_000);
        await sleepMs(ms);
        return member.setClock(0);
      }
      case 'cut-one':
      case 'cut-all':
      case 'refuse':
      case 'half-open':
      case 'delay':
      case 'trickle':
      case 'database-fast':
      case 'database-immediate':
      case 'disk-full':
      case 'lock':
        throw new Error(`${kind} is the store's`);
    }
  };

  return {
    given,
    oddities,
    give(fault) {
      const ofMember = OF_MEMBERS.has(fault.kind);
      // Who is gone already cannot be killed: then it is the next one's turn.
      const order = members.map((_, index) => members[(fault.worker + index) % members.length] as Member);
      const member = ofMember
        ? order.find((each) => each.status() === 'up' && !inHand.has(each))
        : (order[0] as Member);
      const hand = ofMember ? member : OF_ALL.has(fault.kind) ? fault.kind : `${fault.kind} ${member?.name}`;
      if (member === undefined || hand === undefined || inHand.has(hand)) return false;
      given[fault.kind] = (given[fault.kind] ?? 0) + 1;
      const worker = members.indexOf(member);
      onGiven({ ...fault, worker });
      inHand.add(hand);
      const work: Promise<void> = (ofMember ? act(fault, member) : home.harm({ ...fault, worker }))
        .catch((thrown: unknown) => void oddities.push(`${fault.kind}: ${String(thrown)}`))
        .finally(() => {
          inHand.delete(hand);
          underWay.delete(work);
        });
      underWay.add(work);
      return true;
    },
    async lifted() {
      await Promise.all(underWay);
      for (const member of members) {
        member.setClock(0);
        await bringUp(member);
      }
    },
  };
}
