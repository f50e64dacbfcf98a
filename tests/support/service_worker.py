"""
Run the service in this process and print its port: `service_worker.py DATABASE CLOCK [LATEST_S]`.
"""

import sys
import threading

from services import FileClock

from petstore_tools.service.app import Service
from petstore_tools.service.database import Database
from petstore_tools.service.server import ThreadedServer

where, clock, *latest_s = sys.argv[1:]
more = {"latest_s": float(latest_s[0])} if latest_s else {}
service = Service(Database(where, own_time=False), FileClock(clock), **more)
print(ThreadedServer(service).start().base_url, flush=True)
threading.Event().wait()
