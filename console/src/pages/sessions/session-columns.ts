/** The columns of the header and of every row. On a narrower screen, a row is a card. */
export const SESSION_GRID =
  'lg:grid lg:grid-cols-[7rem_minmax(12rem,1fr)_minmax(8rem,13rem)_8.5rem_2.5rem_3.5rem_4.5rem_5.5rem] lg:items-center lg:gap-3';
