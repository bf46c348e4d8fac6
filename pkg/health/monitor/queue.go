package monitor

// queue is a heap of clusters: the next one to look at is the first.
type queue []*watched

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].due.Before(q[j].due) }
func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].place, q[j].place = i, j
}

func (q *queue) Push(c any) {
	c.(*watched).place = len(*q)
	*q = append(*q, c.(*watched))
}

func (q *queue) Pop() any {
	last := len(*q) - 1
	c := (*q)[last]
	(*q)[last], *q, c.place = nil, (*q)[:last], -1
	return c
}
