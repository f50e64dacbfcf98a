"""
Run the service in this process and print its port: `service_worker.py DATABASE CLOCK [LATEST_S]`.
"""

import sys

from services import FileClock

from petstore_tools.service import app, batches
from petstore_tools.service.database import Database
from petstore_tools.service.server import bind, serve

where, clock, *latest_s = sys.argv[1:]
if latest_s:
    app.LATEST_S, batches.TICK_S = float(latest_s[0]), 0.2
listener = bind("127.0.0.1", 0)
listener.listen()
print(listener.getsockname()[1], flush=True)
serve(app.Service(Database(where, own_time=False), FileClock(clock)), listener)
