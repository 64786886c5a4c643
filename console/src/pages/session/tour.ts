/** The key for the id of the tour's session. */
export const TOUR_KEY = 'tour';

export interface TourStop {
  readonly title: string;
  readonly text: string;
}

/** What to look at in a first session, in order. */
export const TOUR: readonly TourStop[] = [
  {
    title: 'Conversation',
    text: 'The model’s thoughts, actions and answers appear while it writes them.',
  },
  {
    title: 'Waterfall',
    text: 'One bar is the model’s response. Each action below it starts as soon as the model has asked for it, not when the response ends.',
  },
  {
    title: 'States',
    text: 'The agent declares what it is doing. Workflows start when a declaration matches their trigger: see “Why” in the Workflows tab.',
  },
  {
    title: 'Review',
    text: 'Some actions need your approval. The agent waits, and a card at the top shows exactly what would run.',
  },
  {
    title: 'Time and forks',
    text: 'Move the slider to see the session at any event. “Fork” continues from there with another message or model.',
  },
];
