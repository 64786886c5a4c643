import { appendsContract } from './contract/appends.ts';
import { closingContract } from './contract/closing.ts';
import { type StoreHome, setUpContract } from './contract/contract.ts';
import { inboxContract } from './contract/inbox.ts';
import { listContract } from './contract/list.ts';
import { ownershipContract } from './contract/ownership.ts';
import { readingContract } from './contract/reading.ts';
import { snapshotsContract } from './contract/snapshots.ts';
import { tablesContract } from './contract/tables.ts';
import { upkeepContract } from './contract/upkeep.ts';
import { watchingContract } from './contract/watching.ts';

/** What every home of the log promises. */
export function storeContract(makeHome: () => Promise<StoreHome>): void {
  const contract = setUpContract(makeHome);
  appendsContract(contract);
  readingContract(contract);
  snapshotsContract(contract);
  ownershipContract(contract);
  inboxContract(contract);
  watchingContract(contract);
  listContract(contract);
  tablesContract(contract);
  upkeepContract(contract);
  closingContract(contract);
}
