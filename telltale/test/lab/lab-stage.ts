import type { Store, StreamInfo } from '../../src/store/store.ts';
import type { FaultGiver } from './give-faults.ts';
import type { JournalReader } from './journal.ts';
import type { LabHome } from './lab-home.ts';
import type { Member } from './member.ts';
import type { Observer } from './observer.ts';
import type { Fault } from './plan-faults.ts';
import type { Workload } from './workload.ts';

/** All that takes part in a round. */
export interface Stage {
  readonly home: LabHome;
  readonly members: readonly Member[];
  readonly store: Store;
  readonly journal: JournalReader;
  readonly observer: Observer;
  readonly workload: Workload;
  readonly giver: FaultGiver;
  readonly plan: readonly Fault[];
}

/** Whether it is to go on. One that was made and has no event was never begun: whoever asked for it was told so. */
export const isAlive = ({ status, head, owner }: StreamInfo): boolean =>
  (status === 'running' || status === 'waiting') && (head > 0 || owner !== undefined);
