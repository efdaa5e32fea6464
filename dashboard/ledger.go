package dashboard

import (
	"encoding/json"
	"net/url"

	"agentlink/coordination"
	"agentlink/coordination/wire"
	"agentlink/dashboard/view"
	"agentlink/node"
	"agentlink/policy"
)

// otherDetails stands in an address for fields that need no permission.
const otherDetails = "other"

// ledgerURL is where the ledger of a contact stands, or of one kind of detail.
func ledgerURL(contact string, capability ...string) string {
	address := "/knows/" + url.PathEscape(contact)
	for _, name := range capability {
		if name == "" {
			name = otherDetails
		}
		address += "/" + name
	}
	return address
}

// ledgerFilter reads which ledger an address means.
func (v *visit) ledgerFilter() (filter coordination.DisclosureFilter, err error) {
	filter.Contact, err = url.PathUnescape(v.c.Params("contact"))
	if err != nil {
		return filter, node.Errorf(node.NotFound, "There is no such page.")
	}
	if _, err := node.ParseAddress(filter.Contact); err != nil {
		return filter, node.Errorf(node.NotFound, "There is no such page.")
	}
	capability := v.c.Params("capability")
	switch {
	case capability == "":
	case capability == otherDetails:
		none := ""
		filter.Capability = &none
	case policy.ValidCapability(capability):
		filter.Capability = &capability
	default:
		return filter, node.Errorf(node.NotFound, "There is no such page.")
	}
	return filter, nil
}

// ledger shows what one contact was told, of every kind or of one.
func (v *visit) ledger() error {
	filter, err := v.ledgerFilter()
	if err != nil {
		return err
	}
	list := coordination.Page{Limit: pageSize + 1}
	if err := v.before(&list.BeforeAt, &list.BeforeID); err != nil {
		return err
	}
	page := view.LedgerPage{Contact: filter.Contact}
	here := ledgerURL(filter.Contact)
	if filter.Capability != nil {
		page.Kind, page.AllURL = view.KindName(*filter.Capability), here
		here = ledgerURL(filter.Contact, *filter.Capability)
	}
	err = v.read(func(tx node.Tx) (err error) {
		if page.Frame, err = v.frame(tx, "What a contact knows", "/knows"); err != nil {
			return err
		}
		told, err := v.d.Coordination.Disclosures(tx, filter, list)
		if err != nil {
			return err
		}
		if len(told) > pageSize {
			last := told[pageSize-1]
			told, page.Older = told[:pageSize], olderURL(here, url.Values{}, last.At, last.ID)
		}
		page.Entries, err = v.ledgerEntries(tx, told)
		return err
	})
	if err != nil {
		return err
	}
	return v.show(view.Ledger(page))
}

// ledgerEntries puts the fields of one message together.
func (v *visit) ledgerEntries(tx node.Tx, told []coordination.Disclosure) (entries []view.LedgerEntry, err error) {
	names, err := v.d.agentNames(tx)
	if err != nil {
		return nil, err
	}
	titles, types, last := map[string]string{}, map[string]coordination.TaskType{}, ""
	for _, d := range told {
		if message := d.AgentID + d.MessageID; message != last {
			title, err := v.ledgerTask(tx, titles, types, d.TaskUID)
			if err != nil {
				return nil, err
			}
			entries, last = append(entries, ledgerEntry(d, names[d.AgentID], title)), message
		}
		entry := &entries[len(entries)-1]
		entry.Fields = append(fieldRows(types[d.TaskUID], d), entry.Fields...)
	}
	return entries, nil
}

// ledgerTask reads title and type of a task once.
func (v *visit) ledgerTask(tx node.Tx, titles map[string]string, types map[string]coordination.TaskType, uid string) (string, error) {
	if title, known := titles[uid]; known {
		return title, nil
	}
	task, err := v.d.Coordination.Task(tx, "", uid)
	titles[uid] = task.Copy.Title
	types[uid], _ = coordination.TypeOf(task.Type)
	return titles[uid], ignoreNotFound(err)
}

func ledgerEntry(d coordination.Disclosure, agent, title string) view.LedgerEntry {
	entry := view.LedgerEntry{At: d.At, Agent: agent, TaskURL: taskURL(d.AgentID, d.TaskUID), TaskTitle: title}
	entry.Meaning, entry.Word = arrived(d)
	switch {
	case d.ApprovalID != "":
		entry.Why, entry.ApprovalURL = "you approved it", "/approvals/"+d.ApprovalID
	case d.Author == wire.AuthorOwner:
		entry.Why = "you wrote it yourself"
	default:
		entry.Why = "your rules allowed it"
	}
	return entry
}

// arrived says whether the contact knows what a message told. What was rejected
// was read all the same.
func arrived(d coordination.Disclosure) (view.Meaning, string) {
	switch {
	case d.Withdrawn:
		return view.Ended, "Never left"
	case d.Status == coordination.MsgDelivered, d.Status == coordination.MsgRejected:
		return view.OK, "Told"
	case d.Status == coordination.MsgQueued && d.AttemptedAt.IsZero():
		return view.Neutral, "On its way"
	}
	return view.Waits, "May have arrived"
}

// fieldRows writes a field as rows, under the label that its task type gives it.
func fieldRows(taskType coordination.TaskType, d coordination.Disclosure) []view.Parameter {
	label := taskType.Labels[d.Field]
	if label == "" {
		label = d.Field
	}
	object, err := json.Marshal(map[string]json.RawMessage{label: d.Value})
	if err != nil {
		return []view.Parameter{{Name: label, Value: string(d.Value)}}
	}
	return view.Rows(object)
}
